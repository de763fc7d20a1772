// Remedies of asks: worked examples, and a comparison with real effects. Each remedy is applied to
// the same cluster, built again; then the ask must get resources, and with slightly less it must
// not. tests/support/seeds.h sets the number of seeds.

#include <algorithm>
#include <map>
#include <memory>

#include <gmock/gmock.h>

#include "common/prng.h"
#include "tests/allocator/apply_remedy.h"
#include "tests/support/seeds.h"

namespace proffer::remedies_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Remedy> remedies(AllocatorScenario& s, const std::string& framework) {
  for (const AskExplanation& ask : s.allocator().explain(FrameworkId(framework), s.now()).asks) {
    if (ask.ask == AskName("task")) return ask.remedies;
  }
  return {};
}

std::vector<std::string> remedy_texts(AllocatorScenario& s, const std::string& framework) {
  std::vector<std::string> lines;
  for (const Remedy& remedy : remedies(s, framework)) lines.push_back(to_text(remedy));
  return lines;
}

TEST(Remedies, SayHowMuchLessWouldFitAndWhoWouldHaveToEnd) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB");
  s.agent("a2", "cpus:4;mem:4GiB");
  s.framework("web").in_role("eng").asks("cpus:2;mem:3GiB", 1, "task", "host == a1");
  s.run_until_nothing_fits();
  s.framework("cron").in_role("ops").asks("cpus:1;mem:1843MiB", 1, "task", "host == a1");
  s.run_until_nothing_fits();
  s.framework("big").asks("cpus:4;mem:6GiB", 1);
  s.decide();
  EXPECT_THAT(
      remedy_texts(s, "big"),
      ElementsAre("if mem ≤ 4 GiB", "after 1 task of role 'eng' (web: t-1) ends on agent a1"));
}

TEST(Remedies, SayOnlyWhatAloneSuffices) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB", "disk:hdd");
  s.framework("web").asks("cpus:3;mem:3GiB", 1);
  s.run_until_nothing_fits();
  // Neither more memory nor another disk suffices: the task would have to end as well.
  s.framework("f").asks("cpus:2;mem:2GiB", 1, "task", "disk == ssd");
  s.decide();
  EXPECT_THAT(remedy_texts(s, "f"), IsEmpty());
}

TEST(Remedies, OfAFullLimitAreAHigherOneOrTheEndOfItsTasks) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB");
  s.limit("eng", "cpus:3");
  s.framework("web").in_role("eng").asks("cpus:1;mem:1GiB", 2);
  s.run_until_nothing_fits();
  s.framework("ads").in_role("eng/ads").asks("cpus:2;mem:1GiB", 1);
  s.decide();
  EXPECT_THAT(
      remedy_texts(s, "ads"),
      ElementsAre("if cpus ≤ 1", "the limit of role 'eng' would have to be raised to cpus:4",
                  "after 1 task of role 'eng' (web: t-1) ends on agent a1"));
}

TEST(Remedies, OfHeadroomThatIsHeldAreLowerGuarantees) {
  AllocatorScenario s({.reclaim = ReclaimMode::kOff});
  s.agent("a1", "cpus:10;mem:10GiB");
  s.guarantee("ops", "cpus:6");
  s.framework("f").asks("cpus:5;mem:1GiB", 1);
  s.decide();
  EXPECT_THAT(
      remedy_texts(s, "f"),
      ElementsAre("if cpus ≤ 4", "the guarantee of role 'ops' would have to be lowered to cpus:5"));
}

TEST(Remedies, OfWhatIsKeptForAnotherIsThatItsClaimEnds) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("f").asks("cpus:3;mem:1GiB", 1);
  s.run_until_nothing_fits();
  s.framework("big").asks("cpus:4;mem:1GiB", 1);
  s.decide();
  s.advance(kClaimAfter);
  s.framework("late").asks("cpus:1;mem:1GiB", 1);
  s.decide();
  EXPECT_THAT(remedy_texts(s, "late"), Contains("when agent a1 is not claimed for big any more"));
}

TEST(Remedies, OfOffersToOthersSayWhenTheyExpire) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("hoarder").asks("cpus:3", 1);
  s.decide();
  s.advance(seconds(10));
  s.framework("f").asks("cpus:4", 1);
  s.decide();
  const std::vector<Remedy> found = remedies(s, "f");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(to_text(found[0]), "if cpus ≤ 1");
  EXPECT_EQ(to_text(found[1]), "if the offer to hoarder (1) on agent a1 is declined or expires");
  EXPECT_EQ(found[1].until, s.now() + seconds(20));
}

TEST(Remedies, NameTheAgentThatItDeclinedOrThatIsAway) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.agent("a2", "cpus:4;mem:4GiB");
  s.agent("a3", "cpus:4;mem:4GiB", "", {{"lab", "cpus:2;mem:1GiB"}});
  s.framework("f").asks("cpus:4", 1, "task", "host == a1");
  s.decide();
  s.framework("f").declines("a1", seconds(60));
  s.allocator().set_agent_active(AgentId("a2"), false);
  s.allocator().set_agent_draining(AgentId("a3"), true);
  s.decide();
  EXPECT_THAT(remedy_texts(s, "f"), ElementsAre("when the framework's decline of agent a1 ends"));
  EXPECT_EQ(remedies(s, "f")[0].until, s.now() + seconds(60));
  s.framework("g").asks("cpus:4", 1, "task", "host == a2");
  s.framework("h").asks("cpus:3", 1, "task", "host == a3");
  s.decide();
  EXPECT_THAT(remedy_texts(s, "g"),
              ElementsAre("without the constraint 'host == a2'", "when agent a2 is back"));
  EXPECT_THAT(remedy_texts(s, "h"), Contains("when agent a3 is undrained"));
}

TEST(Remedies, NeverNameTheTasksOfTheFrameworkItself) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB", "rack:r1");
  s.framework("f").asks("cpus:3;mem:1GiB", 1, "first");
  s.run_until_nothing_fits();
  s.framework("f").asks("cpus:2;mem:1GiB", 1);
  s.framework("g").asks("cpus:2;mem:1GiB", 1);
  s.decide();
  EXPECT_THAT(remedy_texts(s, "f"), ElementsAre("if cpus ≤ 1"));
  EXPECT_THAT(remedy_texts(s, "g"),
              ElementsAre("if cpus ≤ 1", "after 1 task of role 'f' (f: t-1) ends on agent a1"));
}

// --- by trying -----------------------------------------------------------------------------------

// A cluster in which "f" has an ask "task"; built repeatedly from its seed.
struct Case {
  std::unique_ptr<AllocatorScenario> s = {};
  std::map<AgentId, AgentResources> agents = {};
  std::vector<std::string> others = {};
  bool has_side = false;  // another ask of "f"
};

const std::vector<std::string> kRoles = {"eng", "eng/ads", "eng/web", "lab", "ops"};

class CaseMaker {
 public:
  explicit CaseMaker(uint64_t seed) : random_(seed) {}

  Case make() {
    constexpr ReclaimMode kModes[] = {ReclaimMode::kOff, ReclaimMode::kGuarantee,
                                      ReclaimMode::kFairShare};
    // Nothing is answered here: a rescind would give the ask what no change did.
    case_.s = std::make_unique<AllocatorScenario>(
        AllocatorOptions{.claim_after = random_.chance(1, 3) ? seconds(10) : hours(1),
                         .reclaim = kModes[random_.below(3)],
                         .naive = {.no_rescinds = true}});
    AllocatorScenario& s = *case_.s;
    for (int64_t i = random_.between(1, 5); i > 0; --i) add_agent(text("a", i));
    if (random_.chance(2, 3)) add_quotas();
    for (int64_t i = random_.between(1, 4); i > 0; --i) add_other(text("other", i));
    if (random_.chance(1, 3)) s.advance(seconds(40));
    s.framework("f").in_role(some_role());
    case_.has_side = random_.chance(1, 4);
    if (case_.has_side) s.framework("f").asks("cpus:1", 2, "side", "", 0, -1);
    s.framework("f").asks(some_ask());
    s.decide();
    if (random_.chance(1, 2)) s.framework("f").accepts_all();
    if (random_.chance(1, 2)) decline_some();
    for (const auto& [id, agent] : case_.agents) {
      if (random_.chance(1, 6)) s.allocator().set_agent_draining(id, true);
      if (random_.chance(1, 8)) s.allocator().set_agent_active(id, false);
    }
    s.decide();
    for (const std::string& other : case_.others) {
      if (random_.chance(1, 3)) s.framework(other).asks(some_shape(), 2, "more");
    }
    s.decide();
    if (random_.chance(1, 3)) s.advance(seconds(random_.between(1, 25)));
    return std::move(case_);
  }

 private:
  std::string some_role() { return kRoles[random_.below(kRoles.size())]; }
  std::string some_shape() {
    return text("cpus:", random_.between(1, 6), ";mem:", random_.between(1, 6) * 512,
                random_.chance(1, 6) ? random_.chance(1, 2) ? ";gpus:1" : ";gpus:0.5" : "");
  }

  void add_agent(const std::string& name) {
    const auto some = [&] {
      return parse_agent_resources(text("cpus:", random_.between(1, 8),
                                        ";mem:", random_.between(1, 8) * 512,
                                        random_.chance(1, 4) ? ";gpus:2" : ""))
          .value();
    };
    AgentResources agent{.slices = {Slice{.resources = some()}}};
    agent.attributes["rack"] = text("r", random_.below(2));
    if (random_.chance(1, 2)) agent.attributes["disk"] = "ssd";
    if (random_.chance(1, 3)) {
      Resources reserved = some();
      reserved.amounts[ResourceKind::kGpus] = 0;
      reserved.gpus.clear();
      agent.slices.push_back({.resources = reserved, .reserved_for = RoleName(some_role())});
    }
    agent.ports = PortSet({{31000, static_cast<uint16_t>(random_.between(31000, 31003))}});
    case_.s->allocator().set_agent(AgentId(name), agent);
    case_.agents[AgentId(name)] = agent;
  }

  void add_quotas() {
    Allocator& allocator = case_.s->allocator();
    const auto quota = [&](int64_t most) {
      Quota some;
      some.set(ResourceKind::kCpus, random_.between(1, most) * 1000);
      if (random_.chance(1, 2)) some.set(ResourceKind::kMem, random_.between(1, most) * 512'000);
      return some;
    };
    for (const std::string& role : kRoles) {
      RoleSettings settings;
      if (random_.chance(1, 3)) settings.guarantee = quota(8);
      if (random_.chance(1, 4)) settings.limit = quota(12);
      if (check_role(allocator.role_table(), RoleName(role), settings)) {
        allocator.set_role(RoleName(role), settings);
      }
    }
  }

  void add_other(const std::string& name) {
    AllocatorScenario& s = *case_.s;
    case_.others.push_back(name);
    s.framework(name).in_role(some_role());
    Ask ask{.name = AskName("task"),
            .shape = parse_shape(some_shape()).value(),
            .count = random_.between(1, 4)};
    if (random_.chance(1, 5)) {
      ask.gang = 2;
      ask.count = 4;
    }
    s.framework(name).asks(ask);
    s.decide();
    if (random_.chance(3, 4)) s.framework(name).accepts_all();
    if (random_.chance(1, 3)) s.advance(seconds(5));
  }

  Ask some_ask() {
    Ask ask{.name = AskName("task"), .shape = parse_shape(some_shape()).value()};
    if (random_.chance(1, 4)) ask.gang = random_.between(2, 4);
    ask.count = ask.gang * random_.between(1, 3);
    constexpr const char* kConstraints[] = {"disk == ssd", "rack != r1", "rack == r0",
                                            "host in [a1, a2]"};
    for (int i = 0; i < 2; ++i) {
      if (!random_.chance(1, 4)) continue;
      ask.constraints.push_back(parse_constraint(kConstraints[random_.below(4)]).value());
    }
    if (random_.chance(1, 3)) ask.max_per = {{random_.chance(1, 2) ? "host" : "rack", 1}};
    if (random_.chance(1, 8)) ask.max_per = {{"host", 1}, {"rack", 2}};
    if (random_.chance(1, 4)) {
      ask.prefer.hosts = {random_.chance(1, 2) ? "a1" : "nowhere"};
      ask.prefer.wait = seconds(random_.between(1, 30));
    }
    if (random_.chance(1, 6)) ask.borrow = false;
    if (random_.chance(1, 6)) ask.ports = random_.between(1, 5);
    if (random_.chance(1, 8)) ask.expiry = seconds(random_.between(30, 60));
    return ask;
  }

  void decline_some() {
    AllocatorScenario& s = *case_.s;
    for (const Grant& grant : s.framework("f").outstanding()) {
      if (s.allocator().find_offer(grant.offer.id, FrameworkId("f")) == nullptr) continue;
      Refusal refusal;
      switch (random_.below(4)) {
        case 0:
          continue;
        case 1:
          refusal.refuse_for = seconds(random_.between(5, 60));
          break;
        case 2:
          refusal.too_little = {ResourceKind::kCpus};
          break;
        default:
          refusal.wrong_agent = true;
      }
      s.allocator().settle({grant.offer.id}, {}, refusal, s.now());
    }
  }

  Prng random_;
  Case case_ = {};
};

class Trial {
 public:
  explicit Trial(uint64_t seed) : case_(CaseMaker(seed).make()), s_(*case_.s) {}

  AllocatorScenario& s() { return s_; }
  AllocatorScenario::Framework f() { return s_.framework("f"); }
  Ask ask() { return f().ask_of(AskName("task")); }
  const Case& made() const { return case_; }

  // Ends all other demand, of other frameworks and of "f".
  void leave_alone() {
    if (case_.has_side) f().asks("cpus:1", 0, "side", "", 0, -1);
    for (const std::string& other : case_.others) s_.allocator().suppress(FrameworkId(other));
  }
  static bool fills_it(const Grant& grant) {
    return std::any_of(grant.offer.fills.begin(), grant.offer.fills.end(),
                       [](const AskFill& fill) { return fill.ask == AskName("task"); });
  }
  // Whether the next decision gives resources to the ask; with `anybody`, to any ask.
  bool is_given(bool anybody = false) {
    const Decision decision = s_.decide();
    return std::any_of(decision.grants.begin(), decision.grants.end(), [&](const Grant& grant) {
      if (anybody) return true;
      return grant.framework == FrameworkId("f") && fills_it(grant);
    });
  }
  // Whether room is kept below a limit for an ask: an ask that has waited long comes first (seed
  // 10014).
  bool keeps_headroom() {
    for (const LeafStatus& leaf : s_.allocator().leaves()) {
      for (const AskStatus& ask : leaf.asks) {
        if (ask.has_headroom) return true;
      }
    }
    return false;
  }
  // The same in one of the decisions until `at`.
  bool is_given_by(Time at) {
    OfferId last;
    for (const Grant* grant : s_.allocator().offers()) last = std::max(last, grant->offer.id);
    while (s_.now() < at) {
      const Time next = std::min(at, s_.allocator().next_decision(s_.now()).value_or(at));
      s_.advance(std::max(next - s_.now(), milliseconds(1)));
      for (const Grant& grant : f().outstanding()) {
        if (grant.offer.id > last && fills_it(grant)) return true;
      }
    }
    return is_given();
  }

  void apply(const Remedy& remedy) { proffer::apply(s_, "f", "task", remedy, case_.agents); }

 private:
  Case case_;
  AllocatorScenario& s_;
};

struct Tally {
  std::map<std::string, int> kinds = {};
  int unmet = 0;
};

// Remedies slightly below this one, which must not suffice.
std::vector<Remedy> a_little_less(const Remedy& remedy, Trial& trial) {
  std::vector<Remedy> less;
  const Ask ask = trial.ask();
  switch (remedy.kind) {
    case RemedyKind::kTakesLess: {
      Remedy more = remedy;
      const bool whole = remedy.resource == ResourceKind::kGpus && remedy.amount >= 999;
      more.amount = whole ? remedy.amount / 1000 * 1000 + 1000 : remedy.amount + 1;
      const int64_t most = remedy.resource ? ask.shape[*remedy.resource] : ask.ports;
      if (more.amount <= most) less.push_back(more);
      break;
    }
    case RemedyKind::kFewerTogether: {
      Remedy more = remedy;
      if (++more.amount < ask.gang) less.push_back(more);
      break;
    }
    case RemedyKind::kLimitRaised:
    case RemedyKind::kGuaranteeLowered: {
      const RoleSettings settings = trial.s().allocator().role_table().at(remedy.role);
      const bool is_limit = remedy.kind == RemedyKind::kLimitRaised;
      const Quota& now = is_limit ? settings.limit : settings.guarantee;
      for (const ResourceKind kind : kResourceKinds) {
        if (remedy.quota[kind] == now[kind]) continue;
        Remedy nearer = remedy;
        nearer.quota.set(kind, *remedy.quota[kind] + (is_limit ? -1 : 1));
        less.push_back(nearer);
      }
      break;
    }
    case RemedyKind::kTasksEnd:
    case RemedyKind::kOffersEnd:
      for (size_t i = 0; i < remedy.ends.size(); ++i) {
        Remedy fewer = remedy;
        fewer.ends.erase(fewer.ends.begin() + static_cast<std::ptrdiff_t>(i));
        less.push_back(fewer);
      }
      break;
    default:
      break;
  }
  return less;
}

// Prints the cluster and the explanation of a single case.
void tell(Trial& trial, const AskExplanation& unmet) {
  const Ask ask = trial.ask();
  std::cout << "ask " << to_text(ask.shape) << " gang " << ask.gang << " ports " << ask.ports
            << " borrow " << ask.borrow << " max_per " << ask.max_per.size() << " constraints "
            << ask.constraints.size() << " count " << ask.count << "\n";
  for (const AgentUse& agent : trial.s().allocator().agents()) {
    std::cout << agent.agent.str() << ": " << to_text(agent.total) << "; used "
              << to_text(agent.allocated) << "; offered " << to_text(agent.offered) << "\n";
  }
  for (const RoleStatus& role : trial.s().allocator().roles()) {
    std::cout << role.role.str() << ": guarantee " << to_text(role.settings.guarantee) << "; limit "
              << to_text(role.settings.limit) << "; used " << to_text(role.allocated)
              << "; offered " << to_text(role.offered) << "\n";
  }
  for (const auto& [id, agent] : trial.made().agents) {
    std::cout << id.str();
    for (const Slice& slice : agent.slices) {
      std::cout << " " << to_text(slice.resources) << " for " << slice.reserved_for.str() << ";";
    }
    std::cout << "\n";
  }
  for (const HinderedAgents& row : unmet.hindered) {
    std::cout << row.agents << " " << to_text(row) << " [" << row.example.str() << "]\n";
  }
  for (const Remedy& remedy : unmet.remedies) std::cout << to_text(remedy) << "\n";
}

void try_one(uint64_t seed, Tally& tally) {
  Trial first(seed);
  const FrameworkExplanation found =
      first.s().allocator().explain(FrameworkId("f"), first.s().now());
  if (found.asks.empty() || found.asks[0].ask != AskName("task")) return;
  ++tally.unmet;
  const AskExplanation& unmet = found.asks[0];
  const std::vector<Remedy> all = unmet.remedies;
  bool some_claimed = false;
  for (const LeafStatus& leaf : first.s().allocator().leaves()) {
    for (const AskStatus& ask : leaf.asks) {
      const bool is_it = leaf.framework == FrameworkId("f") && ask.ask == AskName("task");
      some_claimed = some_claimed || (!is_it && (ask.claimed || ask.has_headroom));
    }
  }
  // If the demand of others matters, or resources set aside for them, the cluster is different
  // without them.
  const bool is_alone = first.ask().borrow && !some_claimed;

  if (Seeds::one_only()) tell(first, unmet);
  // explain() changes nothing.
  EXPECT_EQ(first.s().allocator().explain(FrameworkId("f"), first.s().now()), found);
  first.s().check();

  if (is_alone) {
    first.leave_alone();
    EXPECT_FALSE(first.is_given()) << "seed " << seed << ": it lacks nothing";
  }
  for (const Remedy& remedy : all) {
    const std::string what = text("seed ", seed, ": ", to_text(remedy));
    ++tally.kinds[std::string(to_text(remedy.kind))];
    if (first.ask().borrow && remedy.until && remedy.kind != RemedyKind::kTasksEnd) {
      Trial trial(seed);
      trial.leave_alone();
      // Otherwise its own offers would expire and filter their agents.
      trial.f().accepts_all();
      EXPECT_TRUE(trial.is_given_by(*remedy.until)) << what << ", by itself";
    }
    if (remedy.kind == RemedyKind::kWaitEnds) continue;
    // The entitlement depends on the demand of others.
    if (first.ask().borrow) {
      Trial trial(seed);
      trial.apply(remedy);
      trial.leave_alone();
      EXPECT_TRUE(trial.is_given()) << what;
    }
    {
      Trial trial(seed);
      trial.apply(remedy);
      EXPECT_TRUE(trial.is_given(true) || trial.keeps_headroom())
          << what << ", and nobody takes it";
    }
    if (!is_alone) continue;
    for (const Remedy& less : a_little_less(remedy, first)) {
      Trial trial(seed);
      trial.apply(less);
      trial.leave_alone();
      EXPECT_FALSE(trial.is_given()) << what << ", but this does too: " << to_text(less);
    }
  }
  if (!is_alone) return;

  // Changes that are not named do not help.
  const auto says = [&](RemedyKind kind, std::optional<ResourceKind> resource = {}) {
    return std::any_of(all.begin(), all.end(), [&](const Remedy& remedy) {
      return remedy.kind == kind && remedy.resource == resource;
    });
  };
  const bool can_tell = first.ask().max_per.size() < 2;
  if (!can_tell) return;
  const auto does_not_help = [&](const Remedy& remedy) {
    Trial trial(seed);
    trial.apply(remedy);
    trial.leave_alone();
    EXPECT_FALSE(trial.is_given()) << "seed " << seed << ": untold " << to_text(remedy);
  };
  for (const ResourceKind kind : kResourceKinds) {
    if (first.ask().shape[kind] <= 1 || says(RemedyKind::kTakesLess, kind)) continue;
    if (found.declined > 0) continue;  // A new declaration would suffice.
    does_not_help({.kind = RemedyKind::kTakesLess, .resource = kind, .amount = 1});
  }
  for (const auto& [id, agent] : first.made().agents) {
    if (!says(RemedyKind::kUndrained)) {
      does_not_help({.kind = RemedyKind::kUndrained, .agent = id});
    }
    if (!says(RemedyKind::kConnected)) {
      does_not_help({.kind = RemedyKind::kConnected, .agent = id});
    }
    Remedy ends{.kind = RemedyKind::kTasksEnd, .agent = id};
    for (const char* name : {"other1", "other2", "other3", "other4"}) {
      for (const auto& task : first.s().framework(name).running()) {
        if (task.agent == id)
          ends.ends.push_back({.framework = FrameworkId(name), .task = task.id});
      }
    }
    if (!says(RemedyKind::kTasksEnd)) {
      does_not_help(ends);
    } else {
      const auto told = std::find_if(all.begin(), all.end(), [](const Remedy& remedy) {
        return remedy.kind == RemedyKind::kTasksEnd;
      });
      if (told->ends.size() < 2) continue;
      for (const Ending& one : ends.ends) {  // If one end sufficed, the remedy would name it.
        does_not_help({.kind = RemedyKind::kTasksEnd, .agent = id, .ends = {one}});
      }
    }
  }
  if (!says(RemedyKind::kLimitRaised)) {
    for (const auto& [role, settings] : first.s().allocator().role_table()) {
      if (settings.limit.empty()) continue;
      does_not_help({.kind = RemedyKind::kLimitRaised, .role = role});
    }
  }
}

// Seeds that failed once. 2322: victims were not named. 3176: for an ask that is declared anew, the
// agent set aside for it by a revoke notice was left out, so the remedy reduced the ask too much.
TEST(Remedies, DoWhatTheySayInClustersThatFailedOnce) {
  Tally tally;
  for (const uint64_t seed : {uint64_t{2322}, uint64_t{3176}}) try_one(seed, tally);
}

TEST(Remedies, DoWhatTheySayInRandomClusters) {
  Tally tally;
  const Seeds seeds(400);
  for (const uint64_t seed : seeds) {
    try_one(seed, tally);
    if (HasFailure()) return;
  }
  if (!seeds.enough()) return;
  EXPECT_GE(tally.unmet, 150);
  for (size_t i = 0; i < kRemedyKindCount; ++i) {
    const std::string kind(to_text(static_cast<RemedyKind>(i)));
    // Resources kept for a claim seldom suffice for another ask that the allocator then serves.
    // Only the master knows of trouble. Tasks here declare no run time, so nothing backfills
    // (Backfill.ExplainSaysWhichTimeLimitWouldLetATaskRunNow).
    const bool is_seldom = static_cast<RemedyKind>(i) == RemedyKind::kUnclaimed ||
                           static_cast<RemedyKind>(i) == RemedyKind::kTroubleOver ||
                           static_cast<RemedyKind>(i) == RemedyKind::kShorterLimit;
    EXPECT_GE(tally.kinds[kind], is_seldom ? 0 : 2) << kind;
  }
}

}  // namespace
}  // namespace proffer::remedies_test
