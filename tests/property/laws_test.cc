// The laws of dominant resource fairness (Ghodsi et al., NSDI 2011, sections 3 and 6.1) for the
// oracle in tests/oracle: for all small cases and many generated ones, with finite counts, weights,
// and tasks that need nothing of some kinds. A failure prints the case. near_ideal_test.cc compares
// the production allocator with the oracle.

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/check.h"
#include "tests/property/fair_case.h"
#include "tests/support/seeds.h"

namespace proffer::laws_test {
namespace {

using fair_case::Case;
using fair_case::Demand;
using fair_case::Fraction;
using fair_case::level;
using fair_case::name;
using fair_case::random_case;
using fair_case::Tasks;
using fair_case::to_text;
using fair_case::used;
using fair_case::wants;
using fair_case::wants_more;

// A rule of sharing. The laws are tested with our rule, and with others to show that the laws can
// fail.
using Rule = std::function<Tasks(const Case&)>;

Tasks drf(const Case& c) {
  const std::optional<Tasks> tasks = ideal::fill(c.pool, c.demands);
  CHECK(tasks.has_value()) << "too large for exact fractions: " << to_text(c);
  return *tasks;
}

// --- the laws: each returns the violation, or an empty text -------------------------------------

// No role runs more tasks than it wants, and all tasks fit.
std::string not_possible(const Case& c, const Tasks& tasks) {
  for (size_t i = 0; i < tasks.size(); ++i) {
    const Demand& demand = c.demands[i];
    if (tasks[i] < 0) return name(i) + " runs less than nothing";
    if (demand.count && tasks[i] > *demand.count) return name(i) + " runs more than it wants";
    if (!tasks[i].is_zero() && !ideal::can_run(c.pool, demand)) return name(i) + " cannot run";
  }
  for (const ResourceKind kind : kResourceKinds) {
    if (used(c, tasks, kind) > c.pool[kind]) return text("too much ", to_text(kind), " is used");
  }
  return "";
}

// The number of tasks of `demand` that fit into the resources of `tasks` tasks of `of`.
Fraction tasks_within(const Demand& demand, const Demand& of, const Fraction& tasks) {
  std::optional<Fraction> least;
  for (const ResourceKind kind : kResourceKinds) {
    if (demand.task[kind] == 0) continue;
    if (of.task[kind] == 0) return 0;
    const Fraction fit = Fraction::of(of.task[kind], demand.task[kind]);
    if (!least || fit < *least) least = fit;
  }
  if (!least) return 0;
  const Fraction all = tasks * *least;
  return demand.count && all > *demand.count ? Fraction(*demand.count) : all;
}

// Sharing incentive: each role runs at least as many tasks as its part of the pool, by weight,
// could hold.
std::string no_sharing_incentive(const Case& c, const Tasks& tasks) {
  int64_t weights = 0;
  for (const Demand& demand : c.demands) {
    if (ideal::can_run(c.pool, demand)) weights += demand.weight;
  }
  for (size_t i = 0; i < tasks.size(); ++i) {
    const Demand& demand = c.demands[i];
    if (!ideal::can_run(c.pool, demand)) continue;
    const Fraction alone =
        tasks_within(demand, {.task = c.pool}, Fraction::of(demand.weight, weights));
    if (tasks[i] < alone) return text(name(i), " would run ", alone.text(), " in its own part");
  }
  return "";
}

// Envy-freeness: no role would run more tasks with the resources of another one, scaled to its own
// weight.
std::string envy(const Case& c, const Tasks& tasks) {
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!wants_more(c, i, tasks[i])) continue;
    for (size_t j = 0; j < tasks.size(); ++j) {
      if (i == j) continue;
      const Fraction scaled = tasks[j] * Fraction::of(c.demands[i].weight, c.demands[j].weight);
      const Fraction instead = tasks_within(c.demands[i], c.demands[j], scaled);
      if (instead > tasks[i]) {
        return text(name(i), " would run ", instead.text(), " with what ", name(j), " has");
      }
    }
  }
  return "";
}

// Pareto efficiency: no role can run more unless another one runs less. Since tasks get only
// resources that they need, this means: a role that wants more lacks a kind that is used up.
std::string waste(const Case& c, const Tasks& tasks) {
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!wants_more(c, i, tasks[i])) continue;
    bool lacks = false;
    for (const ResourceKind kind : kResourceKinds) {
      lacks = lacks || (c.demands[i].task[kind] > 0 && used(c, tasks, kind) == c.pool[kind]);
    }
    if (!lacks) return name(i) + " could run more";
  }
  return "";
}

// The definition of the fair allocation: a role that wants more lacks a kind that is used up, and
// no role with a larger weighted share takes any of it. (At most one allocation has this property.)
std::string not_max_min(const Case& c, const Tasks& tasks) {
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!wants_more(c, i, tasks[i])) continue;
    const Fraction mine = level(c, i, tasks[i]);
    bool justified = false;
    for (const ResourceKind kind : kResourceKinds) {
      if (c.demands[i].task[kind] == 0 || used(c, tasks, kind) != c.pool[kind]) continue;
      bool someone_has_more = false;
      for (size_t j = 0; j < tasks.size(); ++j) {
        if (c.demands[j].task[kind] == 0 || tasks[j].is_zero()) continue;
        someone_has_more = someone_has_more || level(c, j, tasks[j]) > mine;
      }
      justified = justified || !someone_has_more;
    }
    if (!justified) return name(i) + " could run more at the cost of those with larger shares";
  }
  return "";
}

struct Law {
  std::string name;
  std::string (*broken)(const Case&, const Tasks&);
};
const Law kLaws[] = {{"it is possible", not_possible},
                     {"sharing incentive", no_sharing_incentive},
                     {"envy-freeness", envy},
                     {"Pareto efficiency", waste},
                     {"max-min fairness", not_max_min}};

testing::AssertionResult holds(const std::string& broken) {
  if (broken.empty()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\n" << broken;
}

// "", or the violated law, the violation, and the case.
std::string first_broken(const Case& c, const Tasks& tasks) {
  for (const Law& law : kLaws) {
    const std::string broken = law.broken(c, tasks);
    if (!broken.empty()) return text(law.name, ": ", broken, "\n", to_text(c, tasks));
  }
  return "";
}

// Strategy-proofness: if `liar` declares `lie`, it runs no more of its true tasks than with the
// truth.
std::string lie_helps(const Rule& rule, const Case& c, size_t liar, const Demand& lie) {
  const Fraction honest = rule(c)[liar];
  Case told = c;
  told.demands[liar] = lie;
  const Fraction lied = tasks_within(c.demands[liar], lie, rule(told)[liar]);
  if (lied <= honest) return "";
  return text("strategy-proofness: ", name(liar), " runs ", honest.text(), ", but ", lied.text(),
              " if it says that it ", to_text(lie), "\n", to_text(c));
}

// --- small cases --------------------------------------------------------------------------------

// All demands of `least`..4 CPUs and `least`..4 MiB, for each count and weight; the empty demand
// once.
std::vector<Demand> small_demands(int64_t least, const std::vector<std::optional<int64_t>>& counts,
                                  const std::vector<int64_t>& weights = {kWeightOne}) {
  std::vector<Demand> all;
  if (least == 0) all.push_back({});
  for (int64_t cpus = least; cpus <= 4; ++cpus) {
    for (int64_t mem = least; mem <= 4; ++mem) {
      if (cpus == 0 && mem == 0) continue;
      for (const std::optional<int64_t>& count : counts) {
        for (const int64_t weight : weights) all.push_back(wants(cpus, mem, count, weight));
      }
    }
  }
  return all;
}

// All combinations of up to three `demands` in a pool, regardless of order. `visit` returns whether
// to continue.
void for_all_small_cases(const ResourceVector& pool, const std::vector<Demand>& demands,
                         const std::function<bool(const Case&)>& visit) {
  Case c{.pool = pool};
  const std::function<bool(size_t)> add = [&](size_t from) {
    for (size_t i = from; i < demands.size(); ++i) {
      c.demands.push_back(demands[i]);
      if (!visit(c) || (c.demands.size() < 3 && !add(i))) return false;
      c.demands.pop_back();
    }
    return true;
  };
  add(0);
}

void expect_laws_for_all(const ResourceVector& pool, const std::vector<Demand>& demands) {
  for_all_small_cases(pool, demands, [](const Case& c) {
    const std::string broken = first_broken(c, drf(c));
    EXPECT_TRUE(holds(broken));
    return broken.empty();
  });
}

constexpr std::optional<int64_t> kEndless = std::nullopt;
const ResourceVector kFourAndThree = ResourceVector::of(4000, 3000);
const ResourceVector kSixAndFive = ResourceVector::of(6000, 5000);

TEST(Laws, HoldForAllSmallCases) { expect_laws_for_all(kSixAndFive, small_demands(0, {kEndless})); }

TEST(Laws, HoldForAllSmallCasesWithFiniteCounts) {
  expect_laws_for_all(kFourAndThree, small_demands(0, {1, kEndless}));
}

TEST(Laws, HoldForAllSmallCasesWithWeights) {
  expect_laws_for_all(kFourAndThree, small_demands(0, {kEndless}, {1000, 2000}));
}

// No role can run tasks that need a missing kind, and this does not affect other roles.
TEST(Laws, HoldForAllSmallCasesWithoutAKind) {
  expect_laws_for_all(ResourceVector::of(5000, 0), small_demands(0, {2, kEndless}));
}

TEST(Laws, HoldForGeneratedCases) {
  for (const uint64_t seed : Seeds(2'000)) {
    Prng random(seed);
    const Case c = random_case(random, {});
    ASSERT_TRUE(holds(first_broken(c, drf(c)))) << "seed " << seed;
  }
}

// --- truth against lies -------------------------------------------------------------------------

// Every demand and count as the truth of one role, every other as its lie, with every pair of other
// roles. A lie is allocated once and then compared with every truth.
TEST(Lies, NeverHelpInAnySmallCase) {
  const std::vector<Demand> demands = small_demands(0, {2, kEndless});
  const size_t n = demands.size();
  // How many of its true tasks fit into a declared task.
  std::vector<std::vector<Fraction>> worth(n, std::vector<Fraction>(n));
  for (size_t truth = 0; truth < n; ++truth) {
    Demand endless = demands[truth];
    endless.count = kEndless;
    for (size_t lie = 0; lie < n; ++lie) worth[truth][lie] = tasks_within(endless, demands[lie], 1);
  }
  std::vector<Fraction> allotted(n);
  for (size_t one = 0; one < n; ++one) {
    for (size_t other = one; other < n; ++other) {
      Case c{.pool = kFourAndThree, .demands = {{}, demands[one], demands[other]}};
      for (size_t said = 0; said < n; ++said) {
        c.demands[0] = demands[said];
        allotted[said] = drf(c)[0];
      }
      for (size_t truth = 0; truth < n; ++truth) {
        if (demands[truth].count == allotted[truth]) continue;  // it has all it wants
        for (size_t lie = 0; lie < n; ++lie) {
          if (worth[truth][lie].is_zero()) continue;
          if (allotted[lie] * worth[truth][lie] <= allotted[truth]) continue;
          c.demands[0] = demands[truth];
          FAIL() << lie_helps(drf, c, 0, demands[lie]);
        }
      }
    }
  }
}

// Cases have weights, more kinds and more roles; a lie is close to the truth or arbitrary.
Demand random_lie(Prng& random, const Demand& truth, const ResourceVector& pool) {
  Demand lie = truth;
  for (const ResourceKind kind : kResourceKinds) {
    if (pool[kind] == 0) continue;
    const uint64_t how = random.below(5);
    if (how == 0) lie.task[kind] = random.between(0, 8) * 500;
    if (how == 1) lie.task[kind] += 500;
    if (how == 2 && lie.task[kind] > 0) lie.task[kind] -= 500;
  }
  if (random.chance(1, 3)) lie.count = random.between(1, 12);
  if (random.chance(1, 3)) lie.count = kEndless;
  return lie;
}

TEST(Lies, DoNotHelpInGeneratedCases) {
  for (const uint64_t seed : Seeds(1'500)) {
    Prng random(seed);
    const Case c = random_case(random, {});
    for (int i = 0; i < 10; ++i) {
      const size_t liar = random.below(c.demands.size());
      const Demand lie = random_lie(random, c.demands[liar], c.pool);
      ASSERT_TRUE(holds(lie_helps(drf, c, liar, lie))) << "seed " << seed;
    }
  }
}

// --- special cases ------------------------------------------------------------------------------

// Max-min fairness of one kind, by its definition: all of it is used unless all roles have what
// they want, and a role that has less than it wants has at least as large a part, by weight, as any
// other role.
std::string not_water_filled(const Case& c, const Tasks& tasks, ResourceKind kind) {
  Fraction sum;
  bool all_have_enough = true;
  const auto by_weight = [&](size_t i) {
    return tasks[i] * c.demands[i].task[kind] / c.demands[i].weight;
  };
  for (size_t i = 0; i < tasks.size(); ++i) {
    sum += tasks[i] * c.demands[i].task[kind];
    if (!wants_more(c, i, tasks[i])) continue;
    all_have_enough = false;
    for (size_t j = 0; j < tasks.size(); ++j) {
      if (by_weight(j) > by_weight(i)) return text(name(i), " has less than ", name(j));
    }
  }
  if (!all_have_enough && sum != c.pool[kind]) return "some of it is left";
  return "";
}

TEST(SingleResource, IsSharedMaxMin) {
  for (const uint64_t seed : Seeds(1'000)) {
    Prng random(seed);
    const Case c = random_case(random, {.roles_max = 6, .kinds = 1});
    const Tasks tasks = drf(c);
    ASSERT_TRUE(holds(not_water_filled(c, tasks, ResourceKind::kCpus))) << "seed " << seed << "\n"
                                                                        << to_text(c, tasks);
  }
}

// If all roles have the same dominant kind, it is shared as if it were the only one.
TEST(Bottleneck, IsSharedMaxMin) {
  const auto cpus_are_dominant = [](const Case& c) {
    for (const Demand& demand : c.demands) {
      if (ideal::share_of_task(c.pool, demand) !=
          Fraction::of(demand.task[ResourceKind::kCpus], c.pool[ResourceKind::kCpus])) {
        return false;
      }
    }
    return true;
  };
  int cases = 0;
  for_all_small_cases(kFourAndThree, small_demands(0, {1, kEndless}), [&](const Case& c) {
    if (!cpus_are_dominant(c)) return true;
    ++cases;
    const Tasks tasks = drf(c);
    const std::string broken = not_water_filled(c, tasks, ResourceKind::kCpus);
    EXPECT_TRUE(holds(broken)) << to_text(c, tasks);
    return broken.empty();
  });
  EXPECT_GT(cases, 1'000);
}

// --- roles that leave ---------------------------------------------------------------------------

Case without(const Case& c, size_t leaver) {
  Case rest = c;
  rest.demands.erase(rest.demands.begin() + static_cast<int64_t>(leaver));
  return rest;
}

// If one role leaves, no other role runs less.
std::string leaving_hurts(const Case& c) {
  const Tasks before = drf(c);
  for (size_t leaver = 0; leaver < c.demands.size(); ++leaver) {
    Tasks after = drf(without(c, leaver));
    after.insert(after.begin() + static_cast<int64_t>(leaver), before[leaver]);
    for (size_t i = 0; i < before.size(); ++i) {
      if (after[i] >= before[i]) continue;
      return text(name(i), " runs ", after[i].text(), " when ", name(leaver), " has left\n",
                  to_text(c, before));
    }
  }
  return "";
}

TEST(PopulationMonotonicity, HoldsForAllSmallCasesInWhichAllNeedAllKinds) {
  for_all_small_cases(kFourAndThree, small_demands(1, {2, kEndless}), [](const Case& c) {
    const std::string broken = leaving_hurts(c);
    EXPECT_TRUE(holds(broken));
    return broken.empty();
  });
}

TEST(PopulationMonotonicity, HoldsForGeneratedCasesInWhichAllNeedAllKinds) {
  for (const uint64_t seed : Seeds(300)) {
    Prng random(seed);
    ASSERT_TRUE(holds(leaving_hurts(random_case(random, {.zeros = false})))) << "seed " << seed;
  }
}

// This is no law if some tasks need nothing of a kind: a and b limit c by the CPUs. Without a, c
// grows, and then d, which shares only the memory with it, has less.
TEST(PopulationMonotonicity, IsNoLawIfSomeNeedNothingOfAKind) {
  const Case c{.pool = ResourceVector::of(6000, 6000),
               .demands = {wants(1, 0), wants(1, 0), wants(1, 1), wants(0, 1)}};
  EXPECT_EQ(drf(c), (Tasks{2, 2, 2, 4}));
  EXPECT_EQ(drf(without(c, 0)), (Tasks{3, 3, 3}));
}

// DRF is not resource-monotonic (section 6.1.3): the paper shows that no rule is, if it is
// Pareto-efficient and gives a sharing incentive. With twice the CPUs, a's dominant share falls, so
// it catches up, and takes memory from b.
TEST(ResourceMonotonicity, IsNoLaw) {
  const std::vector<Demand> demands = {wants(2, 1), wants(1, 2)};
  EXPECT_EQ(drf({.pool = ResourceVector::of(3000, 3000), .demands = demands}), (Tasks{1, 1}));
  EXPECT_EQ(drf({.pool = ResourceVector::of(6000, 3000), .demands = demands}),
            (Tasks{Fraction::of(3, 2), Fraction::of(3, 4)}));
}

// --- irrelevant changes -------------------------------------------------------------------------

TEST(Oracle, DoesNotLookAtOrderOrUnits) {
  for (const uint64_t seed : Seeds(500)) {
    Prng random(seed);
    const Case c = random_case(random, {});
    const Tasks tasks = drf(c);
    Case other = c;
    std::reverse(other.demands.begin(), other.demands.end());
    for (const ResourceKind kind : kResourceKinds) {
      const int64_t unit = random.between(1, 1'000'000'000);
      other.pool[kind] *= unit;
      for (Demand& demand : other.demands) demand.task[kind] *= unit;
    }
    Tasks others = drf(other);
    std::reverse(others.begin(), others.end());
    ASSERT_EQ(others, tasks) << "seed " << seed << "\n" << to_text(c, tasks);
  }
}

// --- the laws can fail --------------------------------------------------------------------------

// The first role takes all it can.
Tasks first_come(const Case& c) {
  Tasks tasks(c.demands.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!ideal::can_run(c.pool, c.demands[i])) continue;
    std::optional<Fraction> most;
    for (const ResourceKind kind : kResourceKinds) {
      if (c.demands[i].task[kind] == 0) continue;
      const Fraction fit =
          (Fraction(c.pool[kind]) - used(c, tasks, kind)) / c.demands[i].task[kind];
      if (!most || fit < *most) most = fit;
    }
    if (c.demands[i].count) most = std::min(*most, Fraction(*c.demands[i].count));
    tasks[i] = *most;
  }
  return tasks;
}

// Each role has its own part of everything, and leftovers stay unused.
Tasks partition(const Case& c) {
  Tasks tasks;
  const Fraction part = Fraction::of(1, static_cast<int64_t>(c.demands.size()));
  for (const Demand& demand : c.demands) {
    tasks.push_back(ideal::can_run(c.pool, demand) ? tasks_within(demand, {.task = c.pool}, part)
                                                   : Fraction(0));
  }
  return tasks;
}

// All roles run the same number of tasks, of any size (ignoring counts and absent kinds).
Tasks equal_tasks(const Case& c) {
  std::optional<Fraction> most;
  for (const ResourceKind kind : kResourceKinds) {
    int64_t sum = 0;
    for (const Demand& demand : c.demands) sum += demand.task[kind];
    if (sum > 0 && (!most || Fraction::of(c.pool[kind], sum) < *most)) {
      most = Fraction::of(c.pool[kind], sum);
    }
  }
  return Tasks(c.demands.size(), most.value_or(0));
}

// Asset fairness (section 5.1 of the paper): equal sums of the shares of all kinds.
Tasks asset_fair(const Case& c) {
  Tasks pace;
  for (const Demand& demand : c.demands) {
    Fraction sum;
    for (const ResourceKind kind : kResourceKinds) {
      if (c.pool[kind] > 0) sum += Fraction::of(demand.task[kind], c.pool[kind]);
    }
    pace.push_back(Fraction(1) / sum);
  }
  std::optional<Fraction> until;
  for (const ResourceKind kind : kResourceKinds) {
    const Fraction rate = used(c, pace, kind);
    if (rate.is_zero()) continue;
    const Fraction at = Fraction(c.pool[kind]) / rate;
    if (!until || at < *until) until = at;
  }
  for (Fraction& tasks : pace) tasks = tasks * *until;
  return pace;
}

TEST(Laws, TellOtherRulesApart) {
  const Case c{.pool = ResourceVector::of(9000, 18000), .demands = {wants(1, 4), wants(3, 1)}};
  EXPECT_TRUE(holds(first_broken(c, drf(c))));

  EXPECT_NE(envy(c, first_come(c)), "");
  EXPECT_NE(no_sharing_incentive(c, first_come(c)), "");
  EXPECT_EQ(waste(c, first_come(c)), "");

  EXPECT_EQ(no_sharing_incentive(c, partition(c)), "");
  EXPECT_EQ(envy(c, partition(c)), "");
  EXPECT_NE(waste(c, partition(c)), "");

  EXPECT_NE(not_max_min(c, equal_tasks(c)), "");
  EXPECT_NE(lie_helps(equal_tasks, c, 0, wants(2, 8)), "");

  // The paper's example: 30 of each kind, tasks <1,3> and <1,1>. The second role has less than half
  // of everything.
  const Case assets{.pool = ResourceVector::of(30000, 30000),
                    .demands = {wants(1, 3), wants(1, 1)}};
  EXPECT_EQ(asset_fair(assets), (Tasks{6, 12}));
  EXPECT_NE(no_sharing_incentive(assets, asset_fair(assets)), "");
  EXPECT_TRUE(holds(first_broken(assets, drf(assets))));

  const Tasks too_much = {Fraction(5), Fraction(2)};
  EXPECT_NE(not_possible(c, too_much), "");
}

}  // namespace
}  // namespace proffer::laws_test
