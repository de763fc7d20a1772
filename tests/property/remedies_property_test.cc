// Remedies of asks in live clusters: frameworks of many roles ask without end, tasks come and go,
// some offers are declined or ignored, agents are drained and lost. At a random time each remedy of
// an ask is applied to a copy of the same cluster, while all others continue to ask. Then the next
// decision serves the ask, or a framework that the remedy names as first takes the freed resources.
// If no other framework wants anything, the ask is served. Number of seeds: tests/support/seeds.h.

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/prng.h"
#include "tests/allocator/apply_remedy.h"
#include "tests/support/seeds.h"

namespace proffer::remedies_property_test {
namespace {

const std::vector<std::string> kRoles = {"eng", "eng/ads", "eng/web", "lab", "ops"};

// The same cluster for the same seed, at the same time of its life.
class LiveCluster {
 public:
  explicit LiveCluster(uint64_t seed) : random_(seed) {
    constexpr ReclaimMode kModes[] = {ReclaimMode::kOff, ReclaimMode::kGuarantee,
                                      ReclaimMode::kFairShare};
    s_ = std::make_unique<AllocatorScenario>(AllocatorOptions{
        .claim_after = seconds(random_.between(5, 60)), .reclaim = kModes[random_.below(3)]});
    for (int64_t i = random_.between(1, 5); i > 0; --i) add_agent(text("a", i));
    if (random_.chance(1, 2)) add_settings();
    have_limits_ = random_.chance(1, 2);
    for (int64_t i = random_.between(2, 6); i > 0; --i) add_framework(text("f", i));
    for (int64_t i = random_.between(10, 40); i > 0; --i) live();
  }

  AllocatorScenario& s() { return *s_; }
  const std::map<AgentId, AgentResources>& agents() const { return agents_; }
  const std::vector<std::string>& frameworks() const { return frameworks_; }
  // Only this ask wants tasks.
  void leave_alone(const std::string& framework, const AskName& ask) {
    for (const std::string& name : frameworks_) {
      if (name != framework) s_->allocator().suppress(FrameworkId(name));
    }
    for (const AskStatus& other : s_->framework(framework).status().asks) {
      if (other.ask == ask) continue;
      Ask none = s_->framework(framework).ask_of(other.ask);
      none.count = 0;
      s_->framework(framework).asks(none);
    }
  }
  // Grants to an ask, or resources set aside for it.
  using Given = std::set<std::pair<std::string, std::string>>;
  Given given() {
    Given all;
    for (const Grant* grant : s_->allocator().offers()) {
      const std::string& name = grant->framework.str();
      const std::string what = text("offer ", grant->offer.id.value());
      all.insert({name, what});
      for (const AskFill& fill : grant->offer.fills)
        all.insert({name + " " + fill.ask.str(), what});
    }
    for (const LeafStatus& leaf : s_->allocator().leaves()) {
      for (const AskStatus& ask : leaf.asks) {
        for (const auto& [on, amounts] : ask.kept) all.insert({leaf.framework.str(), on.str()});
        for (const AgentId& on : ask.set_aside) all.insert({leaf.framework.str(), on.str()});
        if (ask.has_headroom) all.insert({leaf.framework.str(), "headroom " + ask.ask.str()});
      }
    }
    return all;
  }
  // The frameworks and asks that get something in the decisions from now until `at`.
  std::set<std::string> served_by(Time at) {
    const Given before = given();
    s_->decide();
    s_->advance(at - s_->now());
    s_->decide();
    std::set<std::string> served;
    for (const auto& [who, what] : given()) {
      if (before.count({who, what}) == 0) served.insert(who);
    }
    return served;
  }

 private:
  std::string some_role() { return kRoles[random_.below(kRoles.size())]; }

  void add_agent(const std::string& name) {
    const auto some = [&] {
      return parse_agent_resources(text("cpus:", random_.between(4, 12),
                                        ";mem:", random_.between(4, 12) * 512,
                                        random_.chance(1, 4) ? ";gpus:2" : ""))
          .value();
    };
    AgentResources agent{.slices = {Slice{.resources = some()}}};
    agent.attributes["rack"] = text("r", random_.below(2));
    if (random_.chance(1, 2)) agent.attributes["disk"] = "ssd";
    if (random_.chance(1, 6)) {
      Resources reserved = some();
      reserved.amounts[ResourceKind::kGpus] = 0;
      reserved.gpus.clear();
      agent.slices.push_back({.resources = reserved, .reserved_for = RoleName(some_role())});
    }
    agent.ports = PortSet({{31000, 31007}});
    s_->allocator().set_agent(AgentId(name), agent);
    agents_[AgentId(name)] = agent;
  }

  void add_settings() {
    Allocator& allocator = s_->allocator();
    const auto quota = [&](int64_t most) {
      Quota some;
      some.set(ResourceKind::kCpus, random_.between(2, most) * 1000);
      if (random_.chance(1, 2)) some.set(ResourceKind::kMem, random_.between(2, most) * 512'000);
      return some;
    };
    for (const std::string& role : kRoles) {
      RoleSettings settings{.weight = random_.between(1, 2) * kWeightOne};
      if (random_.chance(1, 4)) settings.guarantee = quota(8);
      if (random_.chance(1, 4)) settings.limit = quota(16);
      if (check_role(allocator.role_table(), RoleName(role), settings)) {
        allocator.set_role(RoleName(role), settings);
      }
    }
  }

  void add_framework(const std::string& name) {
    frameworks_.push_back(name);
    s_->framework(name).in_role(some_role());
    for (int64_t i = random_.between(1, 2); i > 0; --i) s_->framework(name).asks(some_ask(i));
  }

  Ask some_ask(int64_t number) {
    Ask ask{
        .name = AskName(text("ask", number)),
        .shape = ResourceVector::of(random_.between(1, 8) * 500, random_.between(0, 4) * 512'000)};
    if (random_.chance(1, 6)) ask.shape[ResourceKind::kGpus] = random_.chance(1, 2) ? 1'000 : 400;
    if (random_.chance(1, 6)) ask.gang = random_.between(2, 3);
    ask.count = ask.gang * (random_.chance(1, 4) ? random_.between(1, 3) : 1'000);
    constexpr const char* kConstraints[] = {"disk == ssd", "rack != r1", "host in [a1, a2]"};
    if (random_.chance(1, 5)) {
      ask.constraints = {parse_constraint(kConstraints[random_.below(3)]).value()};
    }
    if (random_.chance(1, 8)) {
      ask.max_per = {{random_.chance(1, 2) ? "host" : "rack", random_.between(1, 2)}};
    }
    if (random_.chance(1, 8)) {
      ask.prefer = {.hosts = {"a1"}, .racks = {}, .wait = seconds(random_.between(20, 120))};
    }
    if (random_.chance(1, 10)) ask.borrow = false;
    if (random_.chance(1, 8)) ask.ports = random_.between(1, 3);
    if (random_.chance(1, 6)) ask.priority = 1;
    if (have_limits_) ask.max_run_time = seconds(random_.between(60, 600));
    return ask;
  }

  // Some seconds: tasks end, agents come and go, offers are answered.
  void live() {
    s_->advance(seconds(random_.between(1, 4)));
    s_->end_revoked();
    for (const std::string& name : frameworks_) {
      for (int64_t i = random_.between(0, 2); i > 0; --i) {
        auto& running = s_->framework(name).running();
        if (!running.empty())
          s_->framework(name).ends(TaskId(running[random_.below(running.size())].id));
      }
    }
    for (const auto& [id, agent] : agents_) {
      if (random_.chance(1, 20)) s_->allocator().set_agent_draining(id, random_.chance(1, 2));
      if (random_.chance(1, 20)) s_->allocator().set_agent_active(id, random_.chance(2, 3));
    }
    s_->decide();
    for (const std::string& name : frameworks_) {
      if (random_.chance(1, 12)) continue;  // a slow framework
      if (random_.chance(1, 12)) decline_one(name);
      s_->framework(name).accepts_all();
    }
    s_->decide();
  }

  void decline_one(const std::string& name) {
    const std::vector<Grant> offers = s_->framework(name).outstanding();
    if (offers.empty()) return;
    Refusal refusal{.refuse_for = seconds(random_.between(5, 60))};
    if (random_.chance(1, 2)) refusal = {.too_little = {ResourceKind::kCpus}};
    s_->allocator().settle({offers.front().offer.id}, {}, refusal, s_->now());
  }

  Prng random_;
  // Tasks have time limits, so that the completion of claims is known.
  bool have_limits_ = false;
  std::unique_ptr<AllocatorScenario> s_;
  std::map<AgentId, AgentResources> agents_;
  std::vector<std::string> frameworks_;
};

struct Tally {
  std::map<std::string, int> tried = {};
  std::map<std::string, int> at_once = {};  // no framework is named as first
  std::map<std::string, int> given = {};
};

void try_remedy(uint64_t seed, const std::string& framework, const AskName& ask,
                const Remedy& remedy, bool is_alone, Tally& tally) {
  LiveCluster cluster(seed);
  AllocatorScenario& s = cluster.s();
  if (remedy.kind != RemedyKind::kWaitEnds) {
    apply(s, framework, ask.str(), remedy, cluster.agents());
  }
  if (is_alone) cluster.leave_alone(framework, ask);
  const std::set<std::string> served =
      cluster.served_by(remedy.kind == RemedyKind::kWaitEnds ? *remedy.until : s.now());
  const bool is_given = served.count(framework + " " + ask.str()) > 0;
  const bool is_taken = std::any_of(remedy.first.begin(), remedy.first.end(),
                                    [&](const auto& name) { return served.count(name) > 0; });
  // At the end of the wait, decisions may serve another ask instead.
  const bool is_otherwise = remedy.kind == RemedyKind::kWaitEnds && !served.empty();
  EXPECT_TRUE(is_given || (!is_alone && (is_taken || is_otherwise)))
      << "seed " << seed << ", " << framework << " " << ask.str() << (is_alone ? ", alone" : "")
      << ": " << to_text(remedy) << "; unless taken first by: " << listed(remedy.first)
      << "; served: " << listed({served.begin(), served.end()});
  if (is_alone) return;
  const std::string kind(to_text(remedy.kind));
  ++tally.tried[kind];
  tally.at_once[kind] += remedy.first.empty() ? 1 : 0;
  tally.given[kind] += is_given ? 1 : 0;
}

TEST(Remedies, DoWhatTheySayInClustersThatLive) {
  Tally tally;
  const Seeds seeds(300);
  for (const uint64_t seed : seeds) {
    LiveCluster first(seed);
    int asks = 0;
    for (const std::string& name : first.frameworks()) {
      const FrameworkExplanation found =
          first.s().allocator().explain(FrameworkId(name), first.s().now());
      for (const AskExplanation& unmet : found.asks) {
        if (unmet.remedies.empty() || ++asks > 2) continue;
        const bool may_borrow = first.s().framework(name).ask_of(unmet.ask).borrow;
        for (const Remedy& remedy : unmet.remedies) {
          // the list is complete only if it is shorter
          if (remedy.first.size() == kRemedyEndsMax) continue;
          try_remedy(seed, name, unmet.ask, remedy, false, tally);
          // The entitlement of an ask that may not borrow depends on the demands of others.
          if (may_borrow) try_remedy(seed, name, unmet.ask, remedy, true, tally);
        }
      }
    }
    if (HasFailure()) return;
  }
  if (!seeds.enough()) return;
  for (size_t i = 0; i < kRemedyKindCount; ++i) {
    // only the master has this kind
    if (static_cast<RemedyKind>(i) == RemedyKind::kTroubleOver) continue;
    const std::string kind(to_text(static_cast<RemedyKind>(i)));
    EXPECT_GE(tally.given[kind], 1) << kind;
  }
  for (const auto& [kind, count] : tally.tried) {
    std::cout << kind << ": " << count << " tried, " << tally.at_once[kind]
              << " that nobody comes before, " << tally.given[kind] << " given at once\n";
  }
}

}  // namespace
}  // namespace proffer::remedies_property_test
