// Laws of placement under generated sequences of events: asks with all fields, gangs, reservations,
// estimates, lending and drains, in a tree of roles. The allocator's own invariants are checked
// after every step, and the externally visible ones after every decision. A failure prints the
// seed.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allocator/allocator.h"
#include "common/prng.h"
#include "common/text.h"
#include "tests/support/seeds.h"

namespace proffer::places_property_test {
namespace {

const std::vector<std::string> kRoles = {"eng", "eng/ads", "eng/web", "ops"};

class World {
 public:
  explicit World(uint64_t seed, Placement placement = Placement::kBalanced)
      : random_(seed),
        groups_(seed + 1),
        allocator_(AllocatorOptions{.claim_after = seconds(20), .placement = placement}) {}

  std::vector<std::string> events(int count) {
    for (int i = 0; i < 4; ++i) set_agent();
    for (int i = 0; i < 3; ++i) add_framework();
    for (int i = 0; i < count && violations_.empty(); ++i) {
      one_event();
      check();
      if (random_.chance(1, 2)) decide();
    }
    if (violations_.empty()) decide();
    return trace_;
  }
  const std::vector<std::string>& violations() const { return violations_; }
  int64_t gangs() const { return static_cast<int64_t>(gangs_given_.size()); }
  int64_t revokes() const { return revokes_; }
  int64_t revocable() const { return revocable_; }
  int64_t combined() const { return combined_; }

 private:
  struct Task {
    AgentId agent;
    FrameworkId framework;
    TaskId id;
    AskName ask;
    uint64_t gang = 0;
    std::optional<Time> ends_by = {};
  };

  FrameworkId any_framework() {
    auto at = roles_of_.begin();
    std::advance(at, static_cast<int64_t>(random_.below(roles_of_.size())));
    return at->first;
  }
  AgentId any_agent() {
    auto at = attributes_.begin();
    std::advance(at, static_cast<int64_t>(random_.below(attributes_.size())));
    return at->first;
  }
  RoleName any_role() { return RoleName(kRoles[random_.below(kRoles.size())]); }

  void set_agent() {
    const AgentId id(text("a", random_.below(6)));
    std::vector<Slice> slices;
    int32_t devices = 0;
    const auto add = [&](int64_t most, const RoleName& role, bool revocable) {
      Slice slice{.resources = {.amounts = ResourceVector::of(random_.between(1, most) * 500,
                                                              random_.between(1, most) * 512'000)},
                  .reserved_for = role,
                  .revocable = revocable};
      if (!revocable && random_.chance(1, 4)) {
        slice.resources.amounts[ResourceKind::kGpus] = 1'000;
        slice.resources.gpus.push_back({devices++, 1'000});
      }
      slices.push_back(slice);
    };
    add(8, {}, false);
    for (const std::string& role : kRoles) {
      if (random_.chance(1, 6)) add(4, RoleName(role), false);
    }
    if (random_.chance(1, 5)) add(6, {}, true);
    // Sometimes only the reservations of a known agent change.
    if (const auto known = slices_.find(id); known != slices_.end() && random_.chance(1, 2)) {
      slices = known->second;
      const RoleName role = any_role();
      Slice moved{.resources = {.amounts = ResourceVector::of(500, 512'000)}, .reserved_for = role};
      const bool back = random_.chance(1, 2);
      for (Slice& slice : slices) {
        const bool is_source = !slice.revocable && slice.reserved_for.empty() != back;
        if (!is_source || !slice.resources.contains(moved.resources)) continue;
        slice.resources -= moved.resources;
        if (back) moved.reserved_for = {};
        add_slice(slices, moved);
        break;
      }
    }
    Attributes attributes;
    attributes["rack"] = text("r", random_.below(3));
    if (attributes_.count(id) > 0 && random_.chance(2, 3)) attributes = attributes_[id];
    allocator_.set_agent(
        id, {.attributes = attributes, .slices = slices, .ports = PortSet({{31000, 31007}})});
    attributes_[id] = attributes;
    slices_[id] = slices;
  }
  void add_framework() {
    const FrameworkId id(text("f", random_.below(5)));
    if (roles_of_.count(id) > 0) return;
    const bool open = random_.chance(1, 6);
    roles_of_[id] = any_role();
    open_[id] = open;
    allocator_.add_framework(id, roles_of_[id], open ? OfferMode::kOpen : OfferMode::kAsks);
    if (!open) declare(id);
  }
  void declare(const FrameworkId& id) {
    if (open_[id]) return;
    std::vector<Ask> asks;
    const int64_t count = random_.between(0, 3);
    for (int64_t i = 0; i < count; ++i) {
      Ask ask{.name = AskName(text("ask", i)),
              .shape =
                  ResourceVector::of(random_.between(1, 4) * 500, random_.between(0, 4) * 512'000)};
      if (random_.chance(1, 6)) ask.shape[ResourceKind::kGpus] = random_.between(1, 2) * 500;
      if (random_.chance(1, 3)) ask.gang = random_.between(2, 5);
      ask.count = ask.gang * random_.between(0, 4);
      if (random_.chance(1, 4)) ask.priority = static_cast<int32_t>(random_.below(2));
      if (random_.chance(1, 6)) ask.ports = 1;
      if (random_.chance(1, 4)) ask.max_per.push_back({"host", random_.between(1, 3)});
      if (random_.chance(1, 4)) ask.max_per.push_back({"rack", random_.between(1, 4)});
      if (random_.chance(1, 4)) ask.spread = random_.chance(1, 2) ? "rack" : "host";
      if (groups_.chance(1, 3)) ask.group = groups_.chance(1, 4) ? "h" : "g";
      if (random_.chance(1, 4)) {
        ask.prefer.wait = seconds(random_.between(0, 30));
        if (random_.chance(2, 3)) ask.prefer.hosts = {text("a", random_.below(6))};
        if (random_.chance(1, 3)) ask.prefer.racks = {text("r", random_.below(3))};
      }
      if (random_.chance(1, 3)) ask.revocable_ok = true;
      if (random_.chance(1, 6)) ask.expiry = seconds(random_.between(1, 60));
      if (random_.chance(1, 6)) ask.borrow = false;
      if (random_.chance(1, 6)) ask.constraints = {parse_constraint("rack != r0").value()};
      if (roles_of_[id] == RoleName("eng") && random_.chance(1, 3)) {
        ask.role = RoleName("eng/ads");
      }
      ask.band = static_cast<Band>(random_.below(kBandCount));
      const Result<void> checked = check_ask(ask);
      ASSERT_TRUE(checked.has_value()) << checked.error().message();
      asks.push_back(ask);
    }
    if (random_.chance(1, 2) && !asks_[id].empty()) {  // Only the counts change.
      asks = asks_[id];
      for (Ask& ask : asks) ask.count = ask.gang * random_.between(0, 4);
    }
    for (const Ask& ask : asks) {
      const Ask* known = find(id, ask.name);
      Ask same = known == nullptr ? Ask() : *known;
      same.count = ask.count;
      if (!(same == ask)) declared_[{id, ask.name}] = now_;
    }
    asks_[id] = asks;
    allocator_.declare_asks(id, asks, now_);
  }
  const Ask* find(const FrameworkId& id, const AskName& name) const {
    const auto at = asks_.find(id);
    if (at == asks_.end()) return nullptr;
    for (const Ask& ask : at->second) {
      if (ask.name == name) return &ask;
    }
    return nullptr;
  }

  // All offers of a gang, or one offer.
  void answer() {
    const std::vector<const Grant*> offers = allocator_.offers();
    if (offers.empty()) return;
    const Grant picked = *offers[random_.below(offers.size())];
    std::vector<Grant> together = {picked};
    const bool accept = random_.chance(3, 5);
    if (picked.offer.gang != 0 && accept) {
      together.clear();
      for (const Grant* grant : allocator_.gang_offers(picked.offer.gang)) {
        together.push_back(*grant);
      }
    }
    for (const Grant& grant : together) {
      // A gang ends with the first of its offers that has an unlaunched task.
      if (allocator_.find_offer(grant.offer.id, grant.framework) == nullptr) return;
      std::vector<RunningTask> launched;
      std::vector<Slice> rest = grant.offer.slices;
      const auto launch = [&](const AskName& name, std::vector<Slice> slices, Band band) {
        launched.push_back({.task = TaskId(text("t-", ++launched_)),
                            .ask = name,
                            .claim = {.slices = std::move(slices),
                                      .role = grant.role,
                                      .band = band,
                                      .gang = grant.offer.gang},
                            .since = now_});
        tasks_.push_back(
            {grant.offer.agent, grant.framework, launched.back().task, name, grant.offer.gang});
      };
      if (accept && open_[grant.framework]) launch({}, rest, Band::kBatch);
      for (const AskFill& fill : grant.offer.fills) {
        const Ask* ask = find(grant.framework, fill.ask);
        if (!accept || ask == nullptr) continue;
        for (int64_t i = 0; i < fill.count; ++i) {
          std::optional<std::vector<Slice>> slices = take(ask->shape, rest);
          if (!slices) break;  // the ask was declared with another shape meanwhile
          launch(fill.ask, *std::move(slices), ask->band);
          for (Ask& known : asks_[grant.framework]) {
            if (known.name == fill.ask) known.count = std::max<int64_t>(known.count - 1, 0);
          }
        }
      }
      Refusal refusal;
      if (!accept) refusal.refuse_for = seconds(random_.between(0, 10));
      if (!accept && random_.chance(1, 4)) refusal = {.too_little = {ResourceKind::kMem}};
      allocator_.settle({grant.offer.id}, std::move(launched), refusal, now_);
    }
  }
  void end_task() {
    if (tasks_.empty()) return;
    const size_t i = random_.below(tasks_.size());
    allocator_.release(tasks_[i].agent, tasks_[i].framework, tasks_[i].id);
    tasks_.erase(tasks_.begin() + static_cast<int64_t>(i));
  }
  void end_revoked() {
    for (size_t i = 0; i < tasks_.size();) {
      if (!tasks_[i].ends_by || *tasks_[i].ends_by > now_) {
        ++i;
        continue;
      }
      allocator_.release(tasks_[i].agent, tasks_[i].framework, tasks_[i].id);
      tasks_.erase(tasks_.begin() + static_cast<int64_t>(i));
    }
  }
  void adopt(bool takes_port = false) {
    const AgentId on = any_agent();
    const FrameworkId of = any_framework();
    Slice slice{.resources = {.amounts = ResourceVector::of(random_.between(1, 3) * 500, 0)}};
    if (random_.chance(1, 2)) slice.reserved_for = roles_of_[of];
    if (slice.reserved_for.empty()) slice.revocable = random_.chance(1, 3);
    RunningTask task{.task = TaskId(text("t-", ++launched_)),
                     .ask = AskName("ask0"),
                     .claim = {.slices = {slice}, .role = roles_of_[of]},
                     .since = now_};
    const auto lowest = allocator_.free_ports(on).lowest(1);
    if (takes_port && lowest) task.ports = PortSet({{lowest->front(), lowest->front()}});
    tasks_.push_back({on, of, task.task, task.ask});
    allocator_.adopt(on, of, std::move(task));
  }

  void one_event() {
    switch (random_.below(20)) {
      case 0:
        return set_agent();
      case 1:
        return add_framework();
      case 2:
      case 3:
        return declare(any_framework());
      case 4: {
        const AgentId id = any_agent();
        return random_.chance(1, 2) ? allocator_.set_agent_active(id, random_.chance(2, 3))
                                    : allocator_.set_agent_draining(id, random_.chance(1, 3));
      }
      case 5: {
        if (!random_.chance(1, 4) || attributes_.size() == 1) return answer();
        const AgentId id = any_agent();
        allocator_.remove_agent(id);
        attributes_.erase(id);
        slices_.erase(id);
        std::erase_if(tasks_, [&](const Task& task) { return task.agent == id; });
        return;
      }
      case 6: {
        if (!random_.chance(1, 4) || roles_of_.size() == 1) return answer();
        const FrameworkId id = any_framework();
        allocator_.remove_framework(id);
        roles_of_.erase(id);
        asks_.erase(id);
        std::erase_if(tasks_, [&](const Task& task) { return task.framework == id; });
        return;
      }
      case 7:
        return random_.chance(1, 3) ? allocator_.suppress(any_framework())
                                    : allocator_.revive(any_framework());
      case 8: {
        RoleSettings settings{.weight = random_.between(1, 4) * 500};
        if (random_.chance(1, 3)) {
          settings.limit.set(ResourceKind::kCpus, random_.between(1, 8) * 1'000);
        }
        const RoleName role = any_role();
        if (!check_role(allocator_.role_table(), role, settings)) return;
        return allocator_.set_role(role, settings);
      }
      case 9:
        return allocator_.set_framework_active(any_framework(), random_.chance(2, 3));
      case 10:
        return random_.chance(1, 3) ? adopt() : answer();
      case 11:
        return adopt(true);
      case 12:
      case 13:
        now_ = now_ + milliseconds(random_.between(1, 20) * 500);
        return end_revoked();
      case 14:
        now_ = now_ + seconds(random_.between(20, 60));
        return end_revoked();
      case 15:
      case 16:
        return end_task();
      default:
        return answer();
    }
  }

  void decide() {
    std::map<std::pair<FrameworkId, AskName>, std::map<std::string, int64_t>> before;
    const Decision decision = allocator_.decide(now_);
    check();
    if (allocator_.next_decision(now_) && *allocator_.next_decision(now_) <= now_) {
      violations_.push_back("a decision left something due");
    }
    std::string line;
    std::map<uint64_t, int64_t> members;
    std::map<uint64_t, int64_t> gang_sizes;
    for (const Grant& grant : decision.grants) {
      line += text(grant.offer.id.value(), " ", grant.framework.str(), "@", grant.offer.agent.str(),
                   " ", grant.offer.gang);
      const auto wrong = [&](const std::string& what) {
        violations_.push_back(text("offer ", grant.offer.id.value(), ": ", what));
      };
      bool revocable = false;
      bool certain = false;
      for (const Slice& slice : grant.offer.slices) {
        line += text(" ", slice.reserved_for.str(), slice.revocable ? "~" : "",
                     to_text(slice.resources));
        (slice.revocable ? revocable : certain) = true;
        if (!slice.reserved_for.empty() && !is_within(grant.role, slice.reserved_for)) {
          wrong("it has what is reserved for others");
        }
      }
      if (revocable) ++revocable_;
      if (grant.offer.slices.size() > 1) ++combined_;
      if (revocable && certain) wrong("it has what may be revoked and what may not");
      ResourceVector wanted;
      for (const AskFill& fill : grant.offer.fills) {
        line += text(" ", fill.ask.str(), "x", fill.count);
        const Ask* ask = find(grant.framework, fill.ask);
        if (ask == nullptr) {
          wrong("nobody asked for it");
          continue;
        }
        wanted += ask->shape * fill.count;
        if (revocable && !ask->revocable_ok) wrong("the ask is for what may not be revoked");
        const Time declared = declared_.at({grant.framework, fill.ask});
        if (ask->expiry > Duration() && declared + ask->expiry <= now_) wrong("it has expired");
        if (ask->gang > 1 && grant.offer.gang == 0) wrong("it is part of no gang");
        if (grant.offer.gang != 0) {
          members[grant.offer.gang] += fill.count;
          gang_sizes[grant.offer.gang] = ask->gang;
          gangs_given_.insert(grant.offer.gang);
        }
        for (const MaxPer& most : ask->max_per) {
          if (tasks_with(grant.framework, *ask, most.attribute, grant.offer.agent) > most.count) {
            wrong(text("more than ", most.count, " per ", most.attribute));
          }
        }
      }
      if (!open_[grant.framework] && !(wanted == grant.offer.total().amounts)) {
        wrong("it is not what its fills take");
      }
      line += "; ";
    }
    for (const auto& [gang, count] : members) {
      if (count != gang_sizes[gang]) violations_.push_back("a gang was given in part");
    }
    for (const Revoke& revoke : decision.revokes) {
      ++revokes_;
      line += text("revoke ", revoke.task.str(), "; ");
      bool runs = false;
      for (Task& task : tasks_) {
        if (task.framework != revoke.framework || task.id != revoke.task) continue;
        runs = true;
        if (task.ends_by) violations_.push_back("a task has two notices");
        task.ends_by = revoke.deadline;
      }
      if (!runs) violations_.push_back("a task is revoked that does not run");
    }
    for (const Rescind& rescind : decision.rescinds) {
      line += text("-", rescind.offer.value(), " ", static_cast<int>(rescind.reason), "; ");
    }
    trace_.push_back(line);
  }
  // The ask's tasks, running and offered, on agents with this attribute value.
  int64_t tasks_with(const FrameworkId& framework, const Ask& ask, const std::string& attribute,
                     const AgentId& agent) {
    const auto value = [&](const AgentId& id) {
      if (attribute == "host") return id.str();
      const auto at = attributes_[id].find(attribute);
      return at == attributes_[id].end() ? std::string() : at->second;
    };
    int64_t count = 0;
    for (const Task& task : tasks_) {
      count +=
          task.framework == framework && task.ask == ask.name && value(task.agent) == value(agent);
    }
    for (const Grant* grant : allocator_.offers()) {
      if (grant->framework != framework || value(grant->offer.agent) != value(agent)) continue;
      for (const AskFill& fill : grant->offer.fills) {
        if (fill.ask == ask.name) count += fill.count;
      }
    }
    return count;
  }
  void check() {
    for (const Violation& violation : allocator_.violations()) {
      violations_.push_back(violation.what);
    }
    // Explanations must not fail.
    if (random_.chance(1, 8)) allocator_.explain(any_framework(), now_);
  }

  Prng random_;
  Prng groups_;  // separate, so that the other draws of a seed stay the same
  Allocator allocator_;
  Time now_ = Time() + seconds(100);
  std::map<AgentId, Attributes> attributes_;
  std::map<AgentId, std::vector<Slice>> slices_;
  std::map<FrameworkId, RoleName> roles_of_;
  std::map<FrameworkId, bool> open_;
  std::map<FrameworkId, std::vector<Ask>> asks_;
  std::map<std::pair<FrameworkId, AskName>, Time> declared_;
  uint64_t launched_ = 0;
  std::vector<Task> tasks_;
  std::set<uint64_t> gangs_given_;
  int64_t revokes_ = 0;
  int64_t revocable_ = 0;
  int64_t combined_ = 0;
  std::vector<std::string> trace_;
  std::vector<std::string> violations_;
};

TEST(PlacesProperty, InvariantsHoldAfterEveryStep) {
  int64_t gangs = 0;
  int64_t revokes = 0;
  int64_t revocable = 0;
  int64_t combined = 0;
  for (const uint64_t seed : Seeds(300)) {
    World world(seed);
    world.events(120);
    ASSERT_TRUE(world.violations().empty()) << world.violations().front() << "\nseed " << seed;
    gangs += world.gangs();
    revokes += world.revokes();
    revocable += world.revocable();
    combined += world.combined();
  }
  if (!Seeds(300).enough()) return;
  // checks that there were enough gangs
  EXPECT_GT(gangs, 300);
  EXPECT_GE(revokes, 5);
  EXPECT_GT(revocable, 100);
  EXPECT_GT(combined, 100);
}

// 3871: a revocable task was on an agent with resources that were kept for a claim.
TEST(PlacesProperty, InvariantsHoldInCasesThatOnceBrokeThem) {
  for (const uint64_t seed : {3871}) {
    World world(seed);
    world.events(120);
    ASSERT_TRUE(world.violations().empty()) << world.violations().front() << "\nseed " << seed;
  }
}

TEST(PlacesProperty, TheSameEventsGiveTheSameDecisions) {
  for (const uint64_t seed : Seeds(20)) {
    EXPECT_EQ(World(seed).events(80), World(seed).events(80)) << "seed " << seed;
  }
}

TEST(PlacesProperty, BothHoldByEveryPlacementPolicy) {
  for (const Placement placement :
       {Placement::kSpread, Placement::kWorstFit, Placement::kDotProduct, Placement::kFgd}) {
    for (const uint64_t seed : Seeds(40)) {
      World world(seed, placement);
      const auto trace = world.events(120);
      ASSERT_TRUE(world.violations().empty()) << world.violations().front() << "\n"
                                              << to_text(placement) << ", seed " << seed;
      EXPECT_EQ(World(seed, placement).events(120), trace)
          << to_text(placement) << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace proffer::places_property_test
