// Laws of the allocator under generated sequences of events: its invariants after every step, and
// what must not matter (names, units, who is suppressed, running it again). A failure prints the
// seed.

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allocator/allocator.h"
#include "common/prng.h"
#include "common/text.h"
#include "tests/allocator/running.h"

namespace proffer::allocator_property_test {
namespace {

struct Options {
  int64_t scale = 1;             // of all amounts
  std::string prefix = "";       // of the names of roles and frameworks
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
  RoleName role_name(uint64_t i) const { return RoleName(text(options_.prefix, "r", i)); }
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
    allocator_.set_agent(id, {.attributes = attributes,
                              .slices = {Slice{.resources = all}},
                              .ports = PortSet({{31000, 31003}})});
    agents_[id] = all;
  }
  void add_framework() {
    const uint64_t i = random_.below(5);
    const uint64_t role = random_.below(3);
    const bool open = random_.chance(1, 4) && options_.open_and_gpus;
    const FrameworkId id = framework_name(i);
    if (frameworks_.count(id) > 0) return;
    frameworks_[id] = open ? OfferMode::kOpen : OfferMode::kAsks;
    roles_of_[id] = role_name(role);
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
      asks.push_back(ask);
    }
    if (frameworks_[id] == OfferMode::kOpen) return;
    if (random_.chance(1, 2) && !asks_[id].empty()) {  // Only the counts change.
      asks = asks_[id];
      for (Ask& ask : asks) ask.count = random_.between(0, 6);
    }
    asks_[id] = asks;
    allocator_.declare_asks(id, asks, now_);
  }

  void answer() {
    const std::vector<const Grant*> offers = allocator_.offers();
    if (offers.empty()) return;
    const Grant grant = *offers[random_.below(offers.size())];
    Resources used;
    std::vector<AskFill> fills;
    Refusal refusal;
    const uint64_t how = random_.below(6);
    if (how <= 2) {
      used = grant.offer.total();
      fills = grant.offer.fills;
    } else if (how == 3) {  // Half of the amounts, and no devices.
      for (const ResourceKind kind : {ResourceKind::kCpus, ResourceKind::kMem}) {
        used.amounts[kind] =
            grant.offer.total().amounts[kind] / options_.scale / 2 * options_.scale;
      }
      if (!grant.offer.fills.empty()) fills = {{grant.offer.fills[0].ask, 1}};
      refusal.refuse_for = milliseconds(random_.between(0, 10) * 500);
    } else if (how == 4) {
      refusal.refuse_for = milliseconds(random_.between(0, 10) * 1'000);
    } else {
      refusal.wrong_agent = random_.chance(1, 2);
      if (!refusal.wrong_agent) refusal.too_little = {ResourceKind::kMem};
    }
    for (Ask& ask : asks_[grant.framework]) {
      for (const AskFill& fill : fills) {
        if (fill.ask == ask.name) ask.count = std::max<int64_t>(ask.count - fill.count, 0);
      }
    }
    std::vector<RunningTask> launched = tasks_of(grant, used, fills, launched_, now_);
    for (const RunningTask& task : launched) {
      tasks_.push_back({grant.offer.agent, grant.framework, task.task});
    }
    allocator_.settle({grant.offer.id}, std::move(launched), refusal, now_);
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
        allocator_.set_agent_active(id, random_.chance(2, 3));
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
        return allocator_.set_role(role_name(random_.below(3)),
                                   {.weight = random_.between(1, 4) * 500});
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
        const AgentId id = any_agent();
        const int64_t last = random_.between(31000, 31003);
        return allocator_.set_free_ports(id, PortSet({{31000, static_cast<uint16_t>(last)}}));
      }
      case 13:
      case 14:
        now_ = now_ + milliseconds(random_.between(1, 20) * 500);
        return;
      case 15:
        now_ = now_ + seconds(random_.between(20, 60));
        return;
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
  std::vector<std::string> trace_;
  std::vector<std::string> violations_;
};

constexpr int kEvents = 40;

TEST(AllocatorProperty, InvariantsHoldAfterEveryStep) {
  size_t grants = 0;
  for (uint64_t seed = 1; seed <= 2'000; ++seed) {
    World run(seed, {});
    for (const std::string& line : run.events(kEvents)) grants += line.empty() ? 0 : 1;
    ASSERT_TRUE(run.violations().empty()) << "seed " << seed << ": " << run.violations()[0];
  }
  EXPECT_GT(grants, 2'000u) << "the runs must be about something";
}

TEST(AllocatorProperty, TheSameEventsGiveTheSameDecisions) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    ASSERT_EQ(World(seed, {}).events(kEvents), World(seed, {}).events(kEvents)) << "seed " << seed;
  }
}

TEST(AllocatorProperty, NamesInTheSameOrderDoNotMatter) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    ASSERT_EQ(World(seed, {}).events(kEvents), World(seed, {.prefix = "renamed-"}).events(kEvents))
        << "seed " << seed;
  }
}

TEST(AllocatorProperty, UnitsDoNotMatter) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    for (const int64_t scale : {3, 1024}) {
      ASSERT_EQ(World(seed, {.open_and_gpus = false}).events(kEvents),
                World(seed, {.scale = scale, .open_and_gpus = false}).events(kEvents))
          << "seed " << seed << " scale " << scale;
    }
  }
}

TEST(AllocatorProperty, ASuppressedFrameworkDoesNotMatter) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
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

// Everybody stops at the same moment, so nobody is more than one task ahead.
TEST(AllocatorProperty, EqualTasksOnOneAgentSettleWithinOneTask) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
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
                  dominant_share(b.use, world.total, b.weight))
            << "seed " << seed << " " << a.name.str() << " " << b.name.str();
      }
    }
  }
}

// With one kind and tasks of several sizes: b stops when less than its task is left, and a, at that
// moment at most one of its tasks ahead, can take no more than what is left.
TEST(AllocatorProperty, TasksOfOneKindOnOneAgentSettleWithinATaskOfEach) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
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
                  dominant_share(b.use, world.total, b.weight))
            << "seed " << seed << " " << a.name.str() << " " << b.name.str();
      }
    }
  }
}

// A large ask is served, whatever stream of small ones there is, after claim_after and at most one
// round of the small tasks.
TEST(AllocatorProperty, EveryAskThatCouldFitIsServedWithinABound) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
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
