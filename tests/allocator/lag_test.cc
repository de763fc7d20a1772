// The lag: how far a leaf or an ask is behind its entitlement. allocator/cluster/lag.h defines it,
// allocator/rules/lags.h computes its inputs.

#include "allocator/cluster/lag.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allocator/rules/fluid_filling.h"
#include "common/prng.h"
#include "tests/allocator/scenario.h"

namespace proffer {
namespace {

using fair::Lag;
using Standing = Lag::Standing;

Time at(int64_t second) { return Time() + seconds(second); }

// --- the integral -------------------------------------------------------------------------------

TEST(Lag, HalfOfTheEntitlementForAMinuteIsHalfAMinute) {
  Lag lag;
  lag.note(at(100), {.waits = true, .entitled = 10'000, .used = 5'000});
  EXPECT_EQ(lag.at(at(100)), Duration());
  EXPECT_EQ(lag.at(at(160)), seconds(30));
  EXPECT_EQ(lag.most_at(at(160)), seconds(30));
}

TEST(Lag, NothingUsedGrowsWithTheTime) {
  Lag lag;
  lag.note(at(0), {.waits = true, .entitled = 1, .used = 0});
  EXPECT_EQ(lag.at(at(3'600)), hours(1));
}

TEST(Lag, StaysTheSameAtTheEntitlement) {
  Lag lag;
  lag.note(at(0), {.waits = true, .entitled = 4, .used = 0});
  lag.note(at(10), {.waits = true, .entitled = 4, .used = 4});
  EXPECT_EQ(lag.at(at(500)), seconds(10));
}

TEST(Lag, FallsWithUseBeyondTheEntitlementToZeroAtLeast) {
  Lag lag;
  lag.note(at(0), {.waits = true, .entitled = 4, .used = 0});
  lag.note(at(60), {.waits = true, .entitled = 4, .used = 6});
  EXPECT_EQ(lag.at(at(100)), seconds(40));
  EXPECT_EQ(lag.at(at(180)), Duration());
  // The leaf has no credit afterwards.
  EXPECT_EQ(lag.at(at(1'000)), Duration());
  lag.note(at(1'000), {.waits = true, .entitled = 4, .used = 2});
  EXPECT_EQ(lag.at(at(1'010)), seconds(5));
  EXPECT_EQ(lag.most_at(at(1'010)), seconds(60));
}

TEST(Lag, IsZeroAgainWhenTheWaitEnds) {
  Lag lag;
  lag.note(at(0), {.waits = true, .entitled = 2, .used = 0});
  lag.note(at(50), {});
  EXPECT_EQ(lag.at(at(50)), Duration());
  EXPECT_EQ(lag.at(at(90)), Duration());
  lag.note(at(90), {.waits = true, .entitled = 2, .used = 1});
  EXPECT_EQ(lag.at(at(100)), seconds(5));
  EXPECT_EQ(lag.most_at(at(100)), seconds(50));
}

TEST(Lag, CountsEachEntitlementForItsOwnTime) {
  Lag lag;
  lag.note(at(0), {.waits = true, .entitled = 10, .used = 4});   // 0.6 s per second
  lag.note(at(10), {.waits = true, .entitled = 5, .used = 4});   // 0.2 s per second
  lag.note(at(30), {.waits = true, .entitled = 40, .used = 4});  // 0.9 s per second
  EXPECT_EQ(lag.at(at(40)), seconds(6 + 4 + 9));
}

TEST(Lag, UseWithoutAnEntitlementEndsIt) {
  Lag lag;
  lag.note(at(0), {.waits = true, .entitled = 1'000, .used = 0});
  lag.note(at(10), {.waits = true, .entitled = 0, .used = 0});
  EXPECT_EQ(lag.at(at(20)), seconds(10));
  lag.note(at(20), {.waits = true, .entitled = 0, .used = 1'000});
  EXPECT_EQ(lag.at(at(21)), Duration());
}

TEST(Lag, TheSameStandingNotedAgainChangesNothing) {
  const Standing third{.waits = true, .entitled = 3, .used = 1};
  Lag once;
  once.note(at(0), third);
  Lag often;
  for (int second = 0; second < 100; ++second) often.note(at(second), third);
  EXPECT_EQ(once.at(at(100)), often.at(at(100)));
}

TEST(Lag, StandingsOfNoDurationCountNothing) {
  Lag lag;
  lag.note(at(0), {.waits = true, .entitled = 4, .used = 0});
  lag.note(at(0), {.waits = true, .entitled = 4, .used = 9});
  lag.note(at(0), {.waits = true, .entitled = 4, .used = 2});
  EXPECT_EQ(lag.at(at(10)), seconds(5));
}

TEST(Lag, HoldsTheLargestAmountsForTenYears) {
  Lag lag;
  const int64_t most = int64_t{1} << 61;
  lag.note(at(0), {.waits = true, .entitled = most, .used = 0});
  EXPECT_EQ(lag.at(at(315'360'000)), seconds(315'360'000));
  lag.note(at(315'360'000), {.waits = true, .entitled = 1, .used = most});
  EXPECT_EQ(lag.at(at(630'720'000)), Duration());
}

// --- in the allocator ---------------------------------------------------------------------------

class Lags : public testing::Test {
 protected:
  FrameworkLag of(const std::string& framework) const {
    for (const FrameworkLag& one : s.allocator().framework_lags(s.now())) {
      if (one.framework == FrameworkId(framework)) return one;
    }
    return {};
  }
  // In tenths of a second, to the nearest: entitlements of divisible tasks are rounded down.
  static int64_t tenths(Duration lag) { return (lag.millis() + 50) / 100; }
  int64_t lag(const std::string& framework) const { return tenths(of(framework).lag.now); }
  int64_t ask_lag(const std::string& framework, const std::string& ask = "task") const {
    return tenths(of(framework).asks.at(AskName(ask)).now);
  }
  int64_t role_lag(const std::string& role) const {
    return tenths(s.allocator().role_lags(s.now()).at(RoleName(role)).now);
  }
  // Tasks of A fill the machine, then B wants its half.
  void one_holds_all() {
    s.agent("a", "cpus:20;mem:20GiB");
    s.framework("A").asks("cpus:1;mem:1GiB");
    s.run_until_nothing_fits();
    s.framework("B").asks("cpus:1;mem:1GiB");
    s.decide();
  }

  mutable AllocatorScenario s;
};

TEST_F(Lags, GrowsWhileOthersHoldTheEntitlement) {
  one_holds_all();
  EXPECT_EQ(lag("B"), 0);
  s.advance(seconds(60));
  EXPECT_EQ(lag("B"), 600);
  EXPECT_EQ(ask_lag("B"), 600);
  EXPECT_EQ(role_lag("B"), 600);
  EXPECT_EQ(lag("A"), 0);
  // A ends half of its ten CPUs.
  s.framework("A").ends(5);
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("B").tasks(), 5);
  s.advance(seconds(60));
  EXPECT_EQ(lag("B"), 900);
}

TEST_F(Lags, StaysWhereTheEntitlementIsUsed) {
  one_holds_all();
  s.advance(seconds(20));
  s.framework("A").ends(10);
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("B").tasks(), 10);
  s.advance(minutes(10));
  EXPECT_EQ(lag("B"), 200);
  EXPECT_EQ(lag("A"), 0);
}

TEST_F(Lags, EndsWithTheWait) {
  one_holds_all();
  s.advance(seconds(20));
  s.framework("B").asks("cpus:1;mem:1GiB", 0);
  s.decide();
  EXPECT_EQ(lag("B"), 0);
  s.advance(seconds(20));
  EXPECT_EQ(lag("B"), 0);
  EXPECT_EQ(of("B").lag.most, seconds(20));
  EXPECT_EQ(s.allocator().role_lags(s.now()).at(RoleName("B")).most, seconds(20));
}

TEST_F(Lags, PausedAndSuppressedFrameworksDoNotWait) {
  one_holds_all();
  s.advance(seconds(10));
  s.framework("B").pauses();
  s.decide();
  s.advance(seconds(10));
  EXPECT_EQ(lag("B"), 0);
  s.framework("B").pauses(false);
  s.decide();
  s.advance(seconds(3));
  EXPECT_EQ(lag("B"), 30);
  s.framework("B").suppresses();
  s.decide();
  EXPECT_EQ(lag("B"), 0);
  s.framework("B").revives();
  s.decide();
  s.advance(seconds(4));
  EXPECT_EQ(lag("B"), 40);
  EXPECT_EQ(of("B").lag.most, seconds(10));
}

TEST_F(Lags, AThirdFrameworkLowersTheEntitlement) {
  s.agent("a", "cpus:12;mem:12GiB");
  s.framework("A").asks("cpus:1;mem:1GiB");
  s.run_until_nothing_fits();
  s.framework("B").asks("cpus:1;mem:1GiB");
  s.decide();
  s.framework("A").ends(3);
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("B").tasks(), 3);
  s.advance(seconds(60));
  EXPECT_EQ(lag("B"), 300);  // 3 of 6 CPUs
  s.framework("C").asks("cpus:1;mem:1GiB");
  s.decide();
  s.advance(seconds(60));
  EXPECT_EQ(lag("B"), 450);  // 3 of 4 CPUs
  EXPECT_EQ(lag("C"), 600);
  s.allocator().remove_framework(FrameworkId("C"));
  s.decide();
  s.advance(seconds(60));
  EXPECT_EQ(lag("B"), 750);
}

TEST_F(Lags, AskThatNoAgentCouldServeHasNone) {
  one_holds_all();
  s.framework("B").asks("cpus:1;mem:1GiB", 0).asks("cpus:30;mem:1GiB", 5, "large");
  s.decide();
  s.advance(seconds(60));
  EXPECT_EQ(lag("B"), 0);
  EXPECT_EQ(ask_lag("B", "large"), 0);
  s.agent("b", "cpus:40;mem:40GiB");
  s.framework("A").asks("cpus:1;mem:1GiB", 0);
  s.framework("B").asks("cpus:40;mem:1GiB", 1, "large");
  s.run_until_nothing_fits();
  EXPECT_EQ(lag("B"), 0);
}

TEST_F(Lags, OneAskMayBeBehindInALeafThatIsNot) {
  s.agent("a", "cpus:16;mem:16GiB");
  s.framework("A").asks("cpus:1;mem:1GiB", 1'000, "small").asks("cpus:1;mem:1GiB", 0, "late");
  s.run_until_nothing_fits();
  s.advance(seconds(1));
  s.framework("A").asks("cpus:1;mem:1GiB", 1'000, "late");
  s.decide();
  s.advance(seconds(30));
  EXPECT_EQ(lag("A"), 0);
  EXPECT_EQ(ask_lag("A", "small"), 0);
  EXPECT_EQ(ask_lag("A", "late"), 300);
}

TEST_F(Lags, RoleShowsTheGreatestOfItsLeaves) {
  s.agent("a", "cpus:12;mem:12GiB");
  s.framework("A").in_role("eng/a").asks("cpus:1;mem:1GiB");
  s.run_until_nothing_fits();
  s.framework("B").in_role("eng/b").asks("cpus:1;mem:1GiB");
  s.decide();
  s.advance(seconds(30));
  EXPECT_EQ(role_lag("eng/a"), 0);
  EXPECT_EQ(role_lag("eng/b"), 300);
  EXPECT_EQ(role_lag("eng"), 300);
}

TEST_F(Lags, FrameworkRemembersLeavesThatAreNoMore) {
  s.agent("a", "cpus:12;mem:12GiB");
  s.framework("A").in_role("a").asks("cpus:1;mem:1GiB");
  s.run_until_nothing_fits();
  s.framework("B").in_role("b").asks_in("b/c", "cpus:1;mem:1GiB");
  s.decide();
  s.advance(seconds(30));
  EXPECT_EQ(role_lag("b/c"), 300);
  s.allocator().declare_asks(FrameworkId("B"), {}, s.now());
  s.decide();
  s.decide();
  EXPECT_EQ(of("B").leaves.size(), 1U);
  EXPECT_EQ(of("B").lag, (LagStatus{.most = seconds(30)}));
  EXPECT_EQ(s.allocator().role_lags(s.now()).at(RoleName("b")).most, seconds(30));
}

TEST_F(Lags, OpenFrameworkWaitsBeforeItsFirstOffer) {
  s.agent("a", "cpus:12;mem:12GiB");
  s.framework("A").asks("cpus:1;mem:1GiB");
  s.run_until_nothing_fits();
  s.framework("O").subscribes(OfferMode::kOpen);
  s.decide();
  s.advance(seconds(30));
  EXPECT_EQ(lag("O"), 300);
}

TEST_F(Lags, MemoryThatIsUsedCountsLikeCpusThatAre) {
  // A is entitled to half of both kinds. It uses all memory and few CPUs.
  s.agent("a", "cpus:20;mem:20GiB");
  s.framework("A").asks("cpus:1;mem:10GiB", 2, "wide").asks("cpus:1;mem:1GiB", 0);
  s.run_until_nothing_fits();
  s.framework("A").asks("cpus:1;mem:1GiB");
  s.framework("B").asks("cpus:1;mem:1GiB");
  s.decide();
  s.advance(seconds(30));
  EXPECT_EQ(lag("A"), 0);
  EXPECT_EQ(lag("B"), 300);
}

// --- events at one time -------------------------------------------------------------------------

// Four events between two decisions, in any order, give the same lags.
TEST_F(Lags, DoNotDependOnTheOrderOfEventsAtOneTime) {
  std::vector<int> order = {0, 1, 2, 3};
  std::vector<std::string> results;
  do {
    AllocatorScenario one;
    one.agent("a", "cpus:20;mem:20GiB");
    one.framework("A").asks("cpus:1;mem:1GiB");
    one.run_until_nothing_fits();
    one.framework("B").asks("cpus:1;mem:1GiB");
    one.framework("C").asks("cpus:3;mem:1GiB", 2);
    one.decide();
    one.advance(seconds(7));
    for (const int event : order) {
      if (event == 0) one.framework("A").ends(3);
      if (event == 1) one.framework("C").asks("cpus:3;mem:1GiB", 9);
      if (event == 2) one.weight("B", 2'000);
      if (event == 3) one.framework("D").asks("cpus:2;mem:1GiB");
    }
    one.decide();
    one.advance(seconds(11));
    std::string all;
    for (const FrameworkLag& lag : one.allocator().framework_lags(one.now())) {
      all += text(lag.framework.str(), " ", lag.lag.now.nanos(), " ", lag.lag.most.nanos());
      for (const auto& [ask, of] : lag.asks) all += text(" ", ask.str(), " ", of.now.nanos());
      all += "\n";
    }
    results.push_back(all);
  } while (std::next_permutation(order.begin(), order.end()));
  for (const std::string& result : results) EXPECT_EQ(result, results.front());
}

// --- the same, from scratch ---------------------------------------------------------------------

// Frameworks with two asks each, in roles of their own, share one agent. Random events happen, and
// after each decision the lag of each ask and leaf is integrated anew: uses are counted from tasks
// and offers, entitlements come from a table of this test.
class FromScratch {
 public:
  explicit FromScratch(uint64_t seed) : random_(seed) {
    total_ = parse_shape("cpus:30;mem:40GiB").value();
    s_.agent("a", "cpus:30;mem:40GiB");
    for (int64_t i = random_.between(2, 5); i > 0; --i) join();
    settle();
  }

  // Events at one time, a second or more after the last ones.
  void live() {
    pass(milliseconds(random_.between(1'000, 40'000)));
    while (s_.now() - decided_ <= milliseconds(250)) pass(milliseconds(300));
    for (int64_t i = random_.between(1, 3); i > 0; --i) happen();
    settle();
  }
  // The test rounds entitlements down in other places than the allocator.
  static void expect_near(Duration lag, long double sum, const std::string& of) {
    const auto expected = static_cast<double>(sum);
    EXPECT_NEAR(static_cast<double>(lag.nanos()), expected, 1e6 + expected / 1'000) << of;
  }
  void compare() {
    for (const FrameworkLag& one : s_.allocator().framework_lags(s_.now())) {
      const std::string name = one.framework.str();
      expect_near(one.lag.now, leaves_[name].lag, name);
      expect_near(one.lag.most, leaves_[name].most, "most of " + name);
      for (const auto& [ask, lag] : one.asks) {
        expect_near(lag.now, asks_[{name, ask.str()}].lag, text(name, " ", ask.str()));
      }
    }
  }
  int64_t waits() const { return waits_; }

 private:
  struct Sum {
    bool waits = false;
    long double entitled = 0;
    long double used = 0;
    long double lag = 0;  // in nanoseconds
    long double most = 0;
  };

  void join() {
    const std::string name = text("f", ++joined_);
    names_.push_back(name);
    for (const char* ask : {"x", "y"}) declare(name, ask);
  }
  void declare(const std::string& name, const std::string& ask) {
    auto& shape = shapes_[{name, ask}];
    if (shape.empty()) {
      shape = text("cpus:", random_.between(1, 4), ";mem:", random_.between(1, 4), "GiB");
    }
    s_.framework(name).asks(shape, random_.chance(1, 3) ? 0 : random_.between(1, 30), ask);
  }
  void happen() {
    const std::string name = names_[random_.below(names_.size())];
    switch (random_.below(6)) {
      case 0:
        if (names_.size() < 6) join();
        return;
      case 1:
        if (names_.size() == 1) return;
        std::erase(names_, name);
        s_.allocator().remove_framework(FrameworkId(name));
        s_.framework(name).running().clear();
        gone_.push_back(name);
        return;
      case 2:
        declare(name, random_.chance(1, 2) ? "x" : "y");
        return;
      case 3:
        s_.weight(name, random_.between(1, 4) * 1'000);
        weights_[name] = s_.role(name).settings.weight;
        return;
      default: {
        auto& running = s_.framework(name).running();
        for (int64_t i = random_.between(1, 8); i > 0 && !running.empty(); --i) {
          s_.framework(name).ends(running[random_.below(running.size())].id);
        }
      }
    }
  }
  // Advances time; a step ends with each decision.
  void pass(Duration duration) {
    const Time end = s_.now() + duration;
    while (s_.now() < end) {
      const std::optional<Time> next = s_.allocator().next_decision(s_.now());
      const bool is_due = next && *next <= end;
      const Time until = is_due ? std::max(*next, s_.now()) : end;
      integrate(until - s_.now());
      s_.advance(until - s_.now());
      if (is_due) settle();
    }
  }
  void settle() {
    s_.decide();
    for (int i = 0; i < 100 && !s_.allocator().offers().empty(); ++i) {
      for (const std::string& name : names_) s_.framework(name).accepts_all();
      s_.decide();
    }
    decided_ = s_.now();
    look();
  }
  void integrate(Duration time) {
    const auto add = [&](Sum& sum) {
      if (!sum.waits) return;
      sum.lag += (sum.entitled - sum.used) * static_cast<long double>(time.nanos()) / sum.entitled;
      sum.lag = std::max<long double>(sum.lag, 0);
      sum.most = std::max(sum.most, sum.lag);
    };
    for (auto& [name, sum] : leaves_) add(sum);
    for (auto& [key, sum] : asks_) add(sum);
  }
  // Records the state of all asks and leaves.
  void look() {
    std::vector<fair::FluidNode> table = {{}};
    ResourceVector wanted;
    for (const std::string& name : names_) {
      const auto weight = weights_.find(name);
      table.push_back(
          {.parent = 0, .weight = weight == weights_.end() ? kWeightOne : weight->second});
      fair::FluidNode leaf{.parent = static_cast<int32_t>(table.size()) - 1};
      for (const char* ask : {"x", "y"}) {
        const ResourceVector shape = parse_shape(shapes_[{name, ask}]).value();
        const int64_t tasks = s_.framework(name).tasks(ask) + s_.framework(name).ask(ask).wanted;
        leaf.asks.push_back({.shape = shape, .tasks_max = tasks});
        wanted += shape * tasks;
      }
      table.push_back(leaf);
    }
    const fair::FluidShares shares = fair::fill_fluid(total_, table);
    const bool all_fit = wanted.fits_in(total_);
    for (size_t i = 0; i < names_.size(); ++i) {
      const std::string& name = names_[i];
      const size_t node = 2 * i + 2;
      ResourceVector entitled;
      ResourceVector used;
      bool leaf_waits = false;
      for (size_t j = 0; j < 2; ++j) {
        const std::string ask = j == 0 ? "x" : "y";
        const fair::FluidAsk& of = table[node].asks[j];
        const int64_t tasks = all_fit ? of.tasks_max * fair::kTaskOne : shares.tasks[node][j];
        const int64_t runs = s_.framework(name).tasks(ask);
        const bool waits = s_.framework(name).ask(ask).wanted > 0;
        set(asks_[{name, ask}], waits, static_cast<long double>(tasks) / fair::kTaskOne,
            static_cast<long double>(runs));
        entitled += of.shape * of.tasks_max;
        used += of.shape * runs;
        leaf_waits = leaf_waits || waits;
      }
      if (!all_fit) entitled = shares.nodes[node];
      const ResourceKind kind = dominant_kind(entitled, total_);
      long double most = 0;
      for (const ResourceKind other : kResourceKinds) {
        if (total_[other] == 0) continue;
        most = std::max(most, std::floor(static_cast<long double>(used[other]) *
                                         static_cast<long double>(total_[kind]) /
                                         static_cast<long double>(total_[other])));
      }
      set(leaves_[name], leaf_waits, static_cast<long double>(entitled[kind]), most);
    }
    for (const std::string& name : gone_) {
      leaves_.erase(name);
      for (const char* ask : {"x", "y"}) asks_.erase({name, ask});
    }
    gone_.clear();
  }
  void set(Sum& sum, bool waits, long double entitled, long double used) {
    if (!waits) sum.lag = 0;
    waits_ += waits ? 1 : 0;
    sum.waits = waits;
    sum.entitled = entitled;
    sum.used = used;
  }

  Prng random_;
  AllocatorScenario s_;
  ResourceVector total_;
  Time decided_ = {};
  int64_t joined_ = 0;
  int64_t waits_ = 0;
  std::vector<std::string> names_;
  std::vector<std::string> gone_;
  std::map<std::string, int64_t> weights_;
  std::map<std::pair<std::string, std::string>, std::string> shapes_;
  std::map<std::string, Sum> leaves_;
  std::map<std::pair<std::string, std::string>, Sum> asks_;
};

TEST(LagProperty, IsTheSumOverAllSteps) {
  int64_t waits = 0;
  for (uint64_t seed = 1; seed <= 12 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(text("seed ", seed));
    FromScratch cluster(seed);
    for (int step = 0; step < 40 && !testing::Test::HasFailure(); ++step) {
      cluster.live();
      cluster.compare();
    }
    waits += cluster.waits();
  }
  EXPECT_GT(waits, 500);
}

}  // namespace
}  // namespace proffer
