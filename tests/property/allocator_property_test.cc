// Laws of the allocator under generated sequences of events: its invariants after every step, and
// changes that must have no effect (names, units, suppressed frameworks, a repetition). A failure
// prints the seed.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "allocator/allocator.h"
#include "common/prng.h"
#include "common/text.h"
#include "tests/allocator/running.h"
#include "tests/support/seeds.h"

namespace proffer::allocator_property_test {
namespace {

struct Options {
  int64_t scale = 1;             // scale of all amounts
  std::string prefix = "";       // for names of roles and frameworks
  bool open_and_gpus = true;     // devices and entitlements do not scale exactly
  bool with_suppressed = false;  // one more framework, which is suppressed
};

// One run of random events. The choices depend on the seed and on the outputs only as far as these
// are the same under all Options.
class World {
 public:
  World(uint64_t seed, Options options) : random_(seed), options_(std::move(options)) {
    if (!options_.with_suppressed) return;
    const FrameworkId quiet("a-quiet");
    allocator_.add_framework(quiet, RoleName("a-quiet"), OfferMode::kAsks);
    allocator_.declare_asks(
        quiet, {{.name = AskName("any"), .shape = ResourceVector::of(1, 1), .count = 9}}, now_);
    allocator_.suppress(quiet);
  }

  // The decisions as text, amounts and names as they were before scaling and renaming.
  std::vector<std::string> events(int count) {
    for (int i = 0; i < 3; ++i) set_agent();
    for (int i = 0; i < 2; ++i) add_framework();
    for (int i = 0; i < count && violations_.empty(); ++i) {
      one_event();
      check();
      if (random_.chance(1, 2)) decide();
    }
    decide();
    return trace_;
  }
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  struct Task {
    AgentId agent;
    FrameworkId framework;
    TaskId id;
  };

  ResourceVector amounts(int64_t most) {
    ResourceVector v = ResourceVector::of(random_.between(1, 2 * most) * 500 * options_.scale,
                                          random_.between(0, 2 * most) * 512'000 * options_.scale);
    return v;
  }
  FrameworkId framework_name(uint64_t i) const {
    return FrameworkId(text(options_.prefix, "f", i));
  }
  static constexpr size_t kRoleCount = 6;
  RoleName role_name(uint64_t i) const {
    constexpr const char* kNames[kRoleCount] = {"r0", "r0/a", "r0/b", "r1", "r1/a/b", "r2"};
    return RoleName(options_.prefix + kNames[i]);
  }
  RoleName any_role() { return role_name(random_.below(kRoleCount)); }
  FrameworkId any_framework() {
    auto at = frameworks_.begin();
    std::advance(at, static_cast<int64_t>(random_.below(frameworks_.size())));
    return at->first;
  }
  AgentId any_agent() {
    auto at = agents_.begin();
    std::advance(at, static_cast<int64_t>(random_.below(agents_.size())));
    return at->first;
  }

  void set_agent() {
    const AgentId id(text("a", random_.below(4)));
    Resources all{.amounts = amounts(4)};
    const int64_t gpus = random_.between(0, 2);
    if (options_.open_and_gpus && random_.chance(1, 3)) {
      all.amounts[ResourceKind::kGpus] = gpus * 1000;
      for (int32_t i = 0; i < gpus; ++i) all.gpus.push_back({i, 1000});
    }
    Attributes attributes;
    if (random_.chance(1, 2)) attributes["disk"] = random_.chance(1, 2) ? "ssd" : "hdd";
    if (random_.chance(1, 2)) attributes["rack"] = random_.chance(1, 2) ? "r0" : "r1";
    std::vector<Slice> slices;
    Resources rest = all;
    if (random_.chance(1, 6)) {
      Resources reserved;
      reserved.amounts[ResourceKind::kCpus] = all.amounts[ResourceKind::kCpus] / 2;
      reserved.amounts[ResourceKind::kMem] = all.amounts[ResourceKind::kMem] / 2;
      rest -= reserved;
      slices.push_back({.resources = reserved, .reserved_for = any_role()});
    }
    slices.push_back({.resources = rest});
    allocator_.set_agent(id, {.attributes = attributes,
                              .slices = std::move(slices),
                              .ports = PortSet({{31000, 31003}})});
    agents_[id] = all;
  }
  void add_framework() {
    const uint64_t i = random_.below(5);
    const RoleName role = any_role();
    const bool open = random_.chance(1, 4) && options_.open_and_gpus;
    const FrameworkId id = framework_name(i);
    if (frameworks_.count(id) > 0) return;
    frameworks_[id] = open ? OfferMode::kOpen : OfferMode::kAsks;
    roles_of_[id] = role;
    allocator_.add_framework(id, roles_of_[id], frameworks_[id]);
    if (!open) declare(id);
  }
  void declare(const FrameworkId& id) {
    std::vector<Ask> asks;
    const int64_t count = random_.between(0, 3);
    for (int64_t i = 0; i < count; ++i) {
      Ask ask{.name = AskName(text("ask", i)), .shape = amounts(2), .count = random_.between(0, 6)};
      if (random_.chance(1, 4)) ask.priority = static_cast<int32_t>(random_.below(2));
      if (random_.chance(1, 4)) ask.ports = random_.between(1, 2);
      const int64_t gpus = random_.between(1, 3) * 400;
      if (options_.open_and_gpus && random_.chance(1, 5)) {
        ask.shape[ResourceKind::kGpus] = gpus > 1000 ? 1000 : gpus;
      }
      if (random_.chance(1, 5)) ask.constraints = {parse_constraint("disk == ssd").value()};
      add_wishes(ask, roles_of_.at(id));
      asks.push_back(ask);
    }
    if (frameworks_[id] == OfferMode::kOpen) return;
    if (random_.chance(1, 2) && !asks_[id].empty()) {  // Only the counts change.
      asks = asks_[id];
      for (Ask& ask : asks) ask.count = random_.between(0, 6) / ask.gang * ask.gang;
    }
    asks_[id] = asks;
    allocator_.declare_asks(id, asks, now_);
  }

  void add_wishes(Ask& ask, const RoleName& role) {
    const RoleName below = any_role();
    if (random_.chance(1, 3) && is_within(below, role)) ask.role = below;
    if (random_.chance(1, 6)) {
      ask.gang = random_.between(2, 3);
      ask.count = ask.count / ask.gang * ask.gang;
    }
    if (random_.chance(1, 8)) ask.spread = random_.chance(1, 2) ? "rack" : "host";
    if (random_.chance(1, 8)) {
      ask.max_per = {
          {.attribute = random_.chance(1, 2) ? "rack" : "host", .count = random_.between(1, 2)}};
    }
    if (random_.chance(1, 8)) {
      ask.prefer = {.hosts = {"a1"}, .racks = {"r0"}, .wait = seconds(random_.between(0, 15))};
    }
    if (random_.chance(1, 4)) ask.band = static_cast<Band>(random_.below(kBandCount));
    if (random_.chance(1, 8)) ask.revocable_ok = true;
    if (random_.chance(1, 8)) ask.expiry = seconds(random_.between(5, 60));
    // Entitlements are rounded amounts.
    if (random_.chance(1, 8)) ask.borrow = !options_.open_and_gpus;
  }

  Quota some_quota() {
    Quota quota;
    const ResourceVector most = amounts(8);
    for (const ResourceKind kind : {ResourceKind::kCpus, ResourceKind::kMem}) {
      if (random_.chance(2, 3)) quota.set(kind, most[kind]);
    }
    return quota;
  }
  void set_role() {
    const RoleName role = any_role();
    RoleSettings settings{.weight = random_.between(1, 4) * 500};
    if (random_.chance(1, 4)) settings.limit = some_quota();
    if (random_.chance(1, 4)) settings.guarantee = some_quota();
    if (!options_.open_and_gpus) settings.guarantee = {};
    if (!check_role(allocator_.role_table(), role, settings)) return;
    allocator_.set_role(role, settings);
  }

  // An offer, with its gang if it belongs to one.
  void answer() {
    const std::vector<const Grant*> offers = allocator_.offers();
    if (offers.empty()) return;
    const Grant chosen = *offers[random_.below(offers.size())];
    std::vector<Grant> together;
    for (const Grant* grant : offers) {
      const bool same_gang = chosen.offer.gang != 0 && grant->framework == chosen.framework &&
                             grant->offer.gang == chosen.offer.gang;
      if (same_gang || grant->offer.id == chosen.offer.id) together.push_back(*grant);
    }
    const uint64_t how = random_.below(6);
    Refusal refusal;
    const int64_t filter_ms = random_.between(0, 10) * 500;
    const bool wrong_agent = random_.chance(1, 2);
    if (how == 3) refusal.refuse_for = milliseconds(filter_ms);
    if (how == 4) refusal.refuse_for = milliseconds(filter_ms * 2);
    if (how == 5) {
      refusal.wrong_agent = wrong_agent;
      if (!wrong_agent) refusal.too_little = {ResourceKind::kMem};
    }
    for (const Grant& grant : together) {
      // A gang with one refused offer is refused as a whole.
      if (allocator_.find_offer(grant.offer.id, grant.framework) == nullptr) continue;
      settle(grant, how, refusal);
    }
  }
  void settle(const Grant& grant, uint64_t how, const Refusal& refusal) {
    std::vector<Slice> used;
    std::vector<AskFill> fills;
    if (how <= 2) {
      used = grant.offer.slices;
      fills = grant.offer.fills;
    } else if (how == 3 && grant.offer.gang == 0) {  // Half of the amounts, and no devices.
      used = {grant.offer.slices.front()};
      Resources half;
      for (const ResourceKind kind : {ResourceKind::kCpus, ResourceKind::kMem}) {
        half.amounts[kind] = used[0].resources.amounts[kind] / options_.scale / 2 * options_.scale;
      }
      used[0].resources = half;
      if (!grant.offer.fills.empty()) fills = {{grant.offer.fills[0].ask, 1}};
    }
    for (Ask& ask : asks_[grant.framework]) {
      for (const AskFill& fill : fills) {
        if (fill.ask == ask.name) ask.count = std::max<int64_t>(ask.count - fill.count, 0);
      }
    }
    // The first task has all used resources.
    std::vector<RunningTask> launched = tasks_of(grant, {}, fills, launched_, now_);
    if (launched.empty() && how <= 3 && !used.empty() && !used[0].resources.is_zero()) {
      launched.push_back(running_task(text("t-", ++launched_), grant.role, {}, {}, now_));
    }
    if (!launched.empty()) {
      launched[0].claim.slices = used;
      for (Slice& slice : launched[0].claim.slices) slice.resources.ports = {};
    }
    for (const RunningTask& task : launched) {
      tasks_.push_back({grant.offer.agent, grant.framework, task.task});
    }
    allocator_.settle({grant.offer.id}, std::move(launched), refusal, now_);
  }
  // Tasks with a notice end in time.
  void end_revoked() {
    for (auto at = revoked_.begin(); at != revoked_.end();) {
      if (at->second > now_) {
        ++at;
        continue;
      }
      const auto task = std::find_if(tasks_.begin(), tasks_.end(), [&](const Task& t) {
        return t.framework == at->first.first && t.id == at->first.second;
      });
      at = revoked_.erase(at);
      if (task == tasks_.end()) continue;
      allocator_.release(task->agent, task->framework, task->id);
      tasks_.erase(task);
    }
  }
  void end_task() {
    if (tasks_.empty()) return;
    const size_t i = random_.below(tasks_.size());
    allocator_.release(tasks_[i].agent, tasks_[i].framework, tasks_[i].id);
    tasks_.erase(tasks_.begin() + static_cast<int64_t>(i));
  }

  void one_event() {
    switch (random_.below(20)) {
      case 0:
        return set_agent();
      case 1:
        return add_framework();
      case 2:
        return declare(any_framework());
      case 3: {
        const AgentId id = any_agent();
        if (random_.chance(1, 3)) {
          allocator_.set_agent_draining(id, random_.chance(1, 2));
        } else {
          allocator_.set_agent_active(id, random_.chance(2, 3));
        }
        return;
      }
      case 4: {
        if (!random_.chance(1, 3) || agents_.size() == 1) return end_task();
        const AgentId id = any_agent();
        allocator_.remove_agent(id);
        agents_.erase(id);
        std::erase_if(tasks_, [&](const Task& task) { return task.agent == id; });
        return;
      }
      case 5: {
        if (!random_.chance(1, 3) || frameworks_.size() == 1) return answer();
        const FrameworkId id = any_framework();
        allocator_.remove_framework(id);
        frameworks_.erase(id);
        asks_.erase(id);
        std::erase_if(tasks_, [&](const Task& task) { return task.framework == id; });
        return;
      }
      case 6:
        return allocator_.suppress(any_framework());
      case 7:
      case 8:
        return allocator_.revive(any_framework());
      case 9:
        return set_role();
      case 10: {
        const FrameworkId id = any_framework();
        return allocator_.set_framework_active(id, random_.chance(2, 3));
      }
      case 11: {
        const AgentId on = any_agent();
        const FrameworkId of = any_framework();
        const Resources resources{.amounts = amounts(2)};
        if (!random_.chance(1, 3)) return answer();
        const RunningTask task =
            running_task(text("t-", ++launched_), roles_of_.at(of), resources, {}, now_);
        allocator_.adopt(on, of, task);
        tasks_.push_back({on, of, task.task});
        return;
      }
      case 12: {
        const AgentId on = any_agent();
        const FrameworkId of = any_framework();
        RunningTask task = running_task(text("t-", ++launched_), roles_of_.at(of), {}, {}, now_);
        if (const auto lowest = allocator_.free_ports(on).lowest(1)) {
          task.ports = PortSet({{lowest->front(), lowest->front()}});
        }
        tasks_.push_back({on, of, task.task});
        return allocator_.adopt(on, of, std::move(task));
      }
      case 13:
      case 14:
        now_ = now_ + milliseconds(random_.between(1, 20) * 500);
        return end_revoked();
      case 15:
        now_ = now_ + seconds(random_.between(20, 60));
        return end_revoked();
      case 16:
        return end_task();
      default:
        return answer();
    }
  }

  void decide() {
    const Decision decision = allocator_.decide(now_);
    check();
    if (allocator_.next_decision(now_) && *allocator_.next_decision(now_) <= now_) {
      violations_.push_back("a decision left something due");
    }
    std::string line;
    for (const Grant& grant : decision.grants) {
      const Resources total = grant.offer.total();
      line += text(grant.offer.id.value(), " ", name(grant.framework.str()), "@",
                   grant.offer.agent.str());
      for (const ResourceKind kind : kResourceKinds) {
        line += text(" ", total.amounts[kind] / options_.scale);
      }
      ResourceVector wanted;
      for (const AskFill& fill : grant.offer.fills) {
        line += text(" ", fill.ask.str(), "x", fill.count);
        for (const Ask& ask : asks_[grant.framework]) {
          if (ask.name == fill.ask) wanted += ask.shape * fill.count;
        }
      }
      line += "; ";
      if (frameworks_.at(grant.framework) == OfferMode::kAsks && !(wanted == total.amounts)) {
        violations_.push_back("an offer is not what its fills take");
      }
      if (grant.expires != now_ + kOfferTimeout) violations_.push_back("a lease of a wrong length");
    }
    for (const Rescind& rescind : decision.rescinds) {
      line += text("-", rescind.offer.value(), " ", static_cast<int>(rescind.reason), "; ");
    }
    for (const Revoke& revoke : decision.revokes) {
      line += text("!", revoke.task.str(), "; ");
      revoked_[{revoke.framework, revoke.task}] = revoke.deadline;
    }
    trace_.push_back(line);
  }
  void check() {
    for (const Violation& violation : allocator_.violations()) {
      violations_.push_back(violation.what);
    }
    for (const LeafStatus& leaf : allocator_.leaves()) {
      for (const AskStatus& ask : leaf.asks) {
        if (ask.wanted < 0) violations_.push_back("an ask for less than nothing");
      }
    }
  }
  std::string name(const std::string& renamed) const {
    return renamed.substr(options_.prefix.size());
  }

  Prng random_;
  const Options options_;
  Allocator allocator_{AllocatorOptions{.claim_after = seconds(20)}};
  Time now_ = Time() + seconds(100);
  std::map<AgentId, Resources> agents_;
  std::map<FrameworkId, RoleName> roles_of_;
  uint64_t launched_ = 0;
  std::map<FrameworkId, OfferMode> frameworks_;
  std::map<FrameworkId, std::vector<Ask>> asks_;
  std::vector<Task> tasks_;
  std::map<std::pair<FrameworkId, TaskId>, Time> revoked_;  // and when they end
  std::vector<std::string> trace_;
  std::vector<std::string> violations_;
};

constexpr int kEvents = 40;

TEST(AllocatorProperty, InvariantsHoldAfterEveryStep) {
  size_t grants = 0;
  for (const uint64_t seed : Seeds(2'000)) {
    World run(seed, {});
    for (const std::string& line : run.events(kEvents)) grants += line.empty() ? 0 : 1;
    ASSERT_TRUE(run.violations().empty()) << "seed " << seed << ": " << run.violations()[0];
  }
  if (Seeds(2'000).enough()) {
    EXPECT_GT(grants, 2'000u) << "the runs must be about something";
  }
}

TEST(AllocatorProperty, TheSameEventsGiveTheSameDecisions) {
  for (const uint64_t seed : Seeds(200)) {
    ASSERT_EQ(World(seed, {}).events(kEvents), World(seed, {}).events(kEvents)) << "seed " << seed;
  }
}

TEST(AllocatorProperty, NamesInTheSameOrderDoNotMatter) {
  for (const uint64_t seed : Seeds(300)) {
    ASSERT_EQ(World(seed, {}).events(kEvents), World(seed, {.prefix = "renamed-"}).events(kEvents))
        << "seed " << seed;
  }
}

TEST(AllocatorProperty, UnitsDoNotMatter) {
  for (const uint64_t seed : Seeds(300)) {
    for (const int64_t scale : {3, 1024}) {
      ASSERT_EQ(World(seed, {.open_and_gpus = false}).events(kEvents),
                World(seed, {.scale = scale, .open_and_gpus = false}).events(kEvents))
          << "seed " << seed << " scale " << scale;
    }
  }
}

TEST(AllocatorProperty, ASuppressedFrameworkDoesNotMatter) {
  for (const uint64_t seed : Seeds(300)) {
    // (Not with open frameworks: what those are entitled to depends on how many roles there are.)
    ASSERT_EQ(World(seed, {.open_and_gpus = false}).events(kEvents),
              World(seed, {.open_and_gpus = false, .with_suppressed = true}).events(kEvents))
        << "seed " << seed;
  }
}

// Roles with endless demand on one agent, each with tasks of one shape.
struct OneAgent {
  struct Role {
    RoleName name;
    ResourceVector shape;
    int64_t weight = kWeightOne;
    ResourceVector use;
  };
  ResourceVector total = {};
  std::vector<Role> roles = {};

  void run() {
    Allocator allocator({});
    const Time now = Time() + seconds(1);
    allocator.set_agent(AgentId("a1"), {.slices = {Slice{.resources = {.amounts = total}}}});
    for (const Role& role : roles) {
      const FrameworkId framework(role.name.str());
      allocator.add_framework(framework, role.name, OfferMode::kAsks);
      allocator.declare_asks(
          framework, {{.name = AskName("t"), .shape = role.shape, .count = 1'000'000}}, now);
      allocator.set_role(role.name, {.weight = role.weight});
    }
    allocator.decide(now);
    for (const LeafStatus& leaf : allocator.leaves()) {
      for (Role& role : roles) {
        if (role.name == leaf.role) role.use = leaf.offered;
      }
    }
    EXPECT_TRUE(allocator.violations().empty());
  }
};

// Each has the whole tasks of its entitlement, which is equal for all, and at most one task more.
TEST(AllocatorProperty, EqualTasksOnOneAgentSettleWithinATaskOfEach) {
  for (const uint64_t seed : Seeds(500)) {
    Prng random(seed);
    OneAgent world{
        .total = ResourceVector::of(random.between(4, 40) * 1000, random.between(4, 40) * 1000)};
    const ResourceVector shape =
        ResourceVector::of(random.between(1, 4) * 500, random.between(1, 4) * 500);
    for (uint64_t i = 0; i < 2 + random.below(4); ++i) {
      world.roles.push_back({RoleName(text("r", i)), shape, random.between(1, 6) * 500, {}});
    }
    world.run();
    for (const OneAgent::Role& a : world.roles) {
      for (const OneAgent::Role& b : world.roles) {
        EXPECT_LE(dominant_share((a.use - shape).max({}), world.total, a.weight),
                  dominant_share(b.use + shape, world.total, b.weight))
            << "seed " << seed << " " << a.name.str() << " " << b.name.str();
      }
    }
  }
}

// There is one kind, and tasks of several sizes. When b stops, less than one of its tasks is left.
// At that moment a is at most one of its tasks ahead of its entitlement, and can take at most the
// rest.
TEST(AllocatorProperty, TasksOfOneKindOnOneAgentSettleWithinATaskOfEach) {
  for (const uint64_t seed : Seeds(500)) {
    Prng random(seed);
    OneAgent world{.total = ResourceVector::of(random.between(4, 40) * 1000, 0)};
    for (uint64_t i = 0; i < 2 + random.below(4); ++i) {
      world.roles.push_back({RoleName(text("r", i)),
                             ResourceVector::of(random.between(1, 8) * 500, 0),
                             random.between(1, 6) * 500,
                             {}});
    }
    world.run();
    for (const OneAgent::Role& a : world.roles) {
      for (const OneAgent::Role& b : world.roles) {
        EXPECT_LE(dominant_share((a.use - a.shape - b.shape).max({}), world.total, a.weight),
                  dominant_share(b.use + b.shape, world.total, b.weight))
            << "seed " << seed << " " << a.name.str() << " " << b.name.str();
      }
    }
  }
}

// A large ask is served despite any stream of small ones, after claim_after and at most one round
// of the small tasks.
TEST(AllocatorProperty, EveryAskThatCouldFitIsServedWithinABound) {
  for (const uint64_t seed : Seeds(60)) {
    Prng random(seed);
    Allocator allocator({});
    Time now = Time() + seconds(1);
    const int64_t agents = random.between(1, 4);
    const int64_t cpus = random.between(2, 6);
    for (int64_t i = 0; i < agents; ++i) {
      allocator.set_agent(
          AgentId(text("a", i)),
          {.slices = {Slice{.resources = {.amounts = ResourceVector::of(cpus * 1000, 0)}}}});
    }
    const FrameworkId small("small");
    const FrameworkId large("large");
    allocator.add_framework(small, RoleName("small"), OfferMode::kAsks);
    allocator.add_framework(large, RoleName("large"), OfferMode::kAsks);
    allocator.declare_asks(
        small, {{.name = AskName("t"), .shape = ResourceVector::of(1000, 0), .count = 1'000'000}},
        now);
    struct Running {
      Time end;
      AgentId agent;
      TaskId task;
    };
    std::vector<Running> running;  // the small tasks
    uint64_t launched = 0;
    const auto turn = [&] {
      const Decision decision = allocator.decide(now);
      EXPECT_TRUE(allocator.violations().empty()) << "seed " << seed;
      bool served = false;
      for (const Grant& grant : decision.grants) {
        served = served || grant.framework == large;
        std::vector<RunningTask> tasks;
        for (int64_t i = 0; i < grant.offer.fills[0].count; ++i) {
          const int64_t size = grant.framework == large ? cpus * 1000 : 1000;
          tasks.push_back(running_task(text("t-", ++launched), grant.role,
                                       {.amounts = ResourceVector::of(size, 0)}, AskName("t"),
                                       now));
          if (grant.framework == large) continue;
          running.push_back(
              {now + seconds(random.between(1, 10)), grant.offer.agent, tasks.back().task});
        }
        allocator.settle({grant.offer.id}, std::move(tasks), {}, now);
      }
      return served;
    };
    turn();
    allocator.declare_asks(
        large, {{.name = AskName("t"), .shape = ResourceVector::of(cpus * 1000, 0), .count = 1}},
        now);
    const Time asked = now;
    bool served = false;
    while (!served && now < asked + minutes(10)) {
      now = now + seconds(1);
      std::vector<Running> rest;
      for (const Running& task : running) {
        if (task.end > now)
          rest.push_back(task);
        else
          allocator.release(task.agent, small, task.task);
      }
      running = rest;
      served = turn();
    }
    EXPECT_LE(now, asked + kClaimAfter + seconds(11)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace proffer::allocator_property_test
