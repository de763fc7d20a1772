// The law of backfill: no claim is served later than without it. Each case runs once with backfill.
// Then it runs again for each claim, without backfill from the beginning of that claim on; until
// then both runs are equal.

#include <algorithm>
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

namespace proffer::backfill_law_test {
namespace {

// The true run time of tasks, compared with their time limit.
enum class Truth : uint8_t {
  kToTheLimit,
  kAsExpected,  // as the ask declares, below the limit
  kAnything,    // up to the limit
};

struct Work {
  FrameworkId framework = {};
  Ask ask = {};
  Duration arrives = {};
  int64_t count = 0;
};

struct Case {
  uint64_t seed = 0;
  std::vector<ResourceVector> agents = {};
  std::vector<Work> work = {};
};

Case make_case(uint64_t seed, int64_t agents, Truth truth) {
  Prng prng(seed);
  Case made{.seed = seed};
  for (int64_t i = 0; i < agents; ++i) {
    made.agents.push_back(ResourceVector::of(1'000 * prng.between(4, 8), 8'000'000));
  }
  const int64_t frameworks = prng.between(2, 4);
  for (int64_t i = 0; i < frameworks; ++i) {
    const int64_t asks = prng.between(1, 3);
    for (int64_t k = 0; k < asks; ++k) {
      const bool is_large = prng.chance(1, 3);
      Work work{.framework = FrameworkId(text("f", i))};
      work.ask.name = AskName(text("ask-", k));
      work.ask.shape = ResourceVector::of(1'000 * (is_large ? 4 : prng.between(1, 2)),
                                          1'000'000 * prng.between(1, is_large ? 8 : 3));
      work.ask.priority = static_cast<int32_t>(prng.between(0, 1));
      if (truth == Truth::kAnything || !prng.chance(1, 8))
        work.ask.max_run_time = seconds(prng.between(20, 400));
      if (truth == Truth::kAsExpected) {
        work.ask.duration = work.ask.max_run_time > Duration()
                                ? work.ask.max_run_time / prng.between(1, 4)
                                : seconds(prng.between(20, 400));
      }
      work.arrives = seconds(prng.between(0, 120));
      work.count = is_large ? prng.between(1, 3) : prng.between(5, 40);
      made.work.push_back(std::move(work));
    }
  }
  return made;
}

// A claim, and the next task for its ask.
struct Claim {
  FrameworkId framework = {};
  AskName ask = {};
  AgentId agent = {};
  Time since = {};
  Time complete_by = {};
  std::optional<Time> served_at = {};
  AgentId served_on = {};
  bool was_dropped = false;  // it moved, or ended without being served
};

class Life {
 public:
  Life(const Case& of, Truth truth, std::optional<Time> no_backfill_from)
      : case_(of),
        truth_(truth),
        is_compared_(no_backfill_from.has_value()),
        allocator_(options(no_backfill_from)) {}

  static AllocatorOptions options(std::optional<Time> no_backfill_from) {
    AllocatorOptions options{.offer_timeout = seconds(1), .claim_after = seconds(5)};
    options.naive.no_backfill_from = no_backfill_from;
    return options;
  }

  // Runs for this time, or until the claim's ask gets a task.
  void live(Duration duration, const Claim* of_claim = nullptr) {
    for (size_t i = 0; i < case_.agents.size(); ++i) {
      allocator_.set_agent(AgentId(text("a", i)),
                           {.slices = {Slice{.resources = {.amounts = case_.agents[i]}}}});
    }
    std::set<FrameworkId> frameworks;
    for (const Work& work : case_.work) {
      if (!frameworks.insert(work.framework).second) continue;
      allocator_.add_framework(work.framework, RoleName(work.framework.str()), OfferMode::kAsks);
    }
    for (size_t i = 0; i < case_.work.size(); ++i)
      arrivals_.emplace(Time() + case_.work[i].arrives, i);
    const Time until = Time() + duration;
    while (true) {
      std::optional<Time> next = allocator_.next_decision(now_);
      const auto consider = [&](Time at) { next = next ? std::min(*next, at) : at; };
      if (!arrivals_.empty()) consider(arrivals_.begin()->first);
      if (!ends_.empty()) consider(ends_.begin()->first);
      if (!next || *next > until) break;
      now_ = std::max(now_, *next);
      step();
      if (of_claim != nullptr && first_given(*of_claim)) return;
    }
  }

  const std::vector<Claim>& claims() const { return claims_; }
  int64_t backfilled() const { return backfilled_; }
  // The first task that the ask gets from this time on.
  std::optional<std::pair<Time, AgentId>> first_given(const Claim& to) const {
    const auto given = given_.find({to.framework, to.ask});
    if (given == given_.end()) return std::nullopt;
    for (const auto& [at, agent] : given->second) {
      if (at >= to.since) return std::pair(at, agent);
    }
    return std::nullopt;
  }

 private:
  struct Running {
    AgentId agent = {};
    FrameworkId framework = {};
    TaskId task = {};
  };

  void step() {
    while (!arrivals_.empty() && arrivals_.begin()->first <= now_) {
      const Work& work = case_.work[arrivals_.begin()->second];
      arrivals_.erase(arrivals_.begin());
      Ask ask = work.ask;
      ask.count = work.count;
      declared_[work.framework].push_back(ask);
      declare(work.framework);
    }
    while (!ends_.empty() && ends_.begin()->first <= now_) {
      const Running ended = ends_.begin()->second;
      ends_.erase(ends_.begin());
      allocator_.release(ended.agent, ended.framework, ended.task);
    }
    const Decision decision = allocator_.decide(now_);
    check();
    EXPECT_TRUE(decision.revokes.empty()) << "something was taken back at " << now_.nanos();
    for (const Grant& grant : decision.grants) accept(grant);
    note_claims();
  }

  void accept(const Grant& grant) {
    std::vector<Slice> rest = grant.offer.slices;
    std::vector<RunningTask> tasks;
    for (const AskFill& fill : grant.offer.fills) {
      Ask* ask = nullptr;
      for (Ask& one : declared_[grant.framework]) {
        if (one.name == fill.ask) ask = &one;
      }
      ASSERT_NE(ask, nullptr);
      for (int64_t i = 0; i < fill.count; ++i) {
        std::optional<std::vector<Slice>> slices = take(ask->shape, rest);
        ASSERT_TRUE(slices);
        // Numbered per ask, not by time: the same in all runs.
        const int64_t number = ++launched_[{grant.framework, fill.ask}];
        const TaskId id(text(fill.ask.str(), "-", number));
        tasks.push_back({.task = id,
                         .ask = fill.ask,
                         .claim = {.slices = *std::move(slices),
                                   .role = grant.role,
                                   .max_run_time = ask->max_run_time},
                         .since = now_});
        ends_.emplace(now_ + runs_for(*ask, grant.framework, number),
                      Running{grant.offer.agent, grant.framework, id});
        given_[{grant.framework, fill.ask}].emplace_back(now_, grant.offer.agent);
        if (grant.offer.max_run_time > Duration()) ++backfilled_;
      }
      ask->count -= fill.count;
    }
    allocator_.settle({grant.offer.id}, std::move(tasks), {}, now_);
    check();
  }

  // Invariants of these runs; other property tests check runs without backfill.
  void check() const {
    if (is_compared_) return;
    for (const Violation& violation : allocator_.violations()) ADD_FAILURE() << violation.what;
  }

  Duration runs_for(const Ask& ask, const FrameworkId& framework, int64_t number) const {
    if (truth_ == Truth::kToTheLimit && ask.max_run_time > Duration()) return ask.max_run_time;
    if (truth_ == Truth::kAsExpected) return ask.duration;
    uint64_t key = case_.seed;
    for (const char c : text(framework.str(), "/", ask.name.str(), "/", number)) {
      key = Prng(key ^ static_cast<unsigned char>(c)).next();
    }
    const Duration most = ask.max_run_time > Duration() ? ask.max_run_time : seconds(400);
    return milliseconds(Prng(key).between(1'000, most.millis()));
  }

  void declare(const FrameworkId& framework) {
    allocator_.declare_asks(framework, declared_[framework], now_);
  }

  void note_claims() {
    std::map<std::pair<FrameworkId, AskName>, std::pair<AgentId, Time>> now;
    for (const auto& [framework, asks] : declared_) {
      for (const AskStatus& status : allocator_.asks(framework)) {
        if (!status.claimed || !status.claim_complete_at) continue;
        now[{framework, status.ask}] = {*status.claimed, *status.claim_complete_at};
      }
    }
    for (Claim& claim : claims_) {
      if (claim.served_at || claim.was_dropped) continue;
      const auto key = std::pair(claim.framework, claim.ask);
      const auto given = first_given(claim);
      if (given) {
        std::tie(claim.served_at, claim.served_on) =
            std::pair(std::optional(given->first), given->second);
        continue;
      }
      const auto at = now.find(key);
      claim.was_dropped = at == now.end() || at->second.first != claim.agent;
      now.erase(key);
    }
    for (const auto& [at, what] : now) {
      const auto& key = at;
      const bool is_known = std::any_of(claims_.begin(), claims_.end(), [&](const Claim& claim) {
        return claim.framework == key.first && claim.ask == key.second && !claim.served_at &&
               !claim.was_dropped;
      });
      if (is_known) continue;
      claims_.push_back({.framework = key.first,
                         .ask = key.second,
                         .agent = what.first,
                         .since = now_ + nanoseconds(1),
                         .complete_by = what.second});
    }
  }

  const Case& case_;
  const Truth truth_;
  const bool is_compared_;
  Allocator allocator_;
  Time now_;
  std::multimap<Time, size_t> arrivals_;
  std::multimap<Time, Running> ends_;
  std::map<FrameworkId, std::vector<Ask>> declared_;
  std::map<std::pair<FrameworkId, AskName>, int64_t> launched_;
  std::map<std::pair<FrameworkId, AskName>, std::vector<std::pair<Time, AgentId>>> given_;
  std::vector<Claim> claims_;
  int64_t backfilled_ = 0;
};

constexpr Duration kLife = minutes(30);

struct Sums {
  int64_t claims = 0;      // claims that were compared
  int64_t elsewhere = 0;   // served on another agent in one of the runs
  int64_t backfilled = 0;  // tasks
  int64_t earlier = 0;
};

// Compares the run with backfill with the runs without it.
Sums compare(uint64_t seed, int64_t agents, Truth truth) {
  Sums sums;
  const Case of = make_case(seed, agents, truth);
  Life with(of, truth, std::nullopt);
  with.live(kLife);
  sums.backfilled = with.backfilled();
  for (const Claim& claim : with.claims()) {
    if (sums.backfilled == 0) break;
    Life without(of, truth, claim.since - nanoseconds(1));
    without.live(kLife, &claim);
    const auto then = without.first_given(claim);
    const auto now = with.first_given(claim);
    if (!then) continue;
    // The free resources of other agents depend on all grants meanwhile.
    if (then->second != claim.agent || (now && now->second != claim.agent)) {
      ++sums.elsewhere;
      continue;
    }
    ++sums.claims;
    EXPECT_TRUE(now && now->first <= then->first)
        << "seed " << seed << ", " << agents << " agents: the claim of " << claim.framework.str()
        << " " << claim.ask.str() << " since " << claim.since.nanos() << " is served at "
        << (now ? now->first.nanos() : 0) << ", without backfill at " << then->first.nanos();
    if (now && now->first < then->first) ++sums.earlier;
  }
  return sums;
}

TEST(BackfillLaw, NoClaimIsServedLaterThanWithoutBackfill) {
  const Seeds seeds(30);
  for (const Truth truth : {Truth::kToTheLimit, Truth::kAsExpected}) {
    for (const int64_t agents : {1, 3}) {
      Sums sums;
      for (const uint64_t seed : seeds) {
        const Sums of_seed = compare(seed, agents, truth);
        sums.claims += of_seed.claims;
        sums.elsewhere += of_seed.elsewhere;
        sums.backfilled += of_seed.backfilled;
        sums.earlier += of_seed.earlier;
      }
      if (seeds.enough()) {
        EXPECT_GT(sums.backfilled, 25) << "the cases show nothing";
        EXPECT_GT(sums.claims, 10) << "the cases show nothing";
        EXPECT_LE(sums.elsewhere, 2 * sums.claims);
      }
      RecordProperty(text("claims_", static_cast<int>(truth), "_", agents),
                     static_cast<int>(sums.claims));
      RecordProperty(text("backfilled_", static_cast<int>(truth), "_", agents),
                     static_cast<int>(sums.backfilled));
      RecordProperty(text("elsewhere_", static_cast<int>(truth), "_", agents),
                     static_cast<int>(sums.elsewhere));
    }
  }
}

// If tasks end early, a claim may wait for a task that backfills it, but never longer than until
// the tasks in its way would have had to end.
TEST(BackfillLaw, NoClaimIsServedLaterThanTheTimeLimitsOfTheTasksInItsWay) {
  int64_t kept = 0;
  int64_t backfilled = 0;
  const Seeds seeds(100);
  for (const uint64_t seed : seeds) {
    for (const int64_t agents : {1, 3}) {
      const Case of = make_case(seed, agents, Truth::kAnything);
      Life life(of, Truth::kAnything, std::nullopt);
      life.live(kLife);
      backfilled += life.backfilled();
      for (const Claim& claim : life.claims()) {
        if (claim.was_dropped || !claim.served_at || claim.complete_by <= claim.since) continue;
        ++kept;
        EXPECT_LE(*claim.served_at, claim.complete_by)
            << "seed " << seed << ", " << agents << " agents: the claim of "
            << claim.framework.str() << " " << claim.ask.str();
      }
    }
  }
  if (seeds.enough()) {
    EXPECT_GT(kept, 25) << "the cases show nothing";
    EXPECT_GT(backfilled, 50) << "the cases show nothing";
  }
}

}  // namespace
}  // namespace proffer::backfill_law_test
