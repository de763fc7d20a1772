// The production allocator compared with the oracle of tests/oracle, on one agent, where placement
// plays no part. Tasks are whole in one and divisible in the other; this is the only allowed
// difference. A failure prints the case.
//
// Each role first gets the whole tasks of its share in the oracle, its entitlement; the rest is
// given in the order of the paper. So no role is a task below the oracle. A role may be further
// above it, with resources that the roles below cannot use any more.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allocator/allocator.h"
#include "tests/property/fair_case.h"
#include "tests/support/seeds.h"

namespace proffer::near_ideal_test {
namespace {

using fair_case::Case;
using fair_case::Demand;
using fair_case::Fraction;
using fair_case::level;
using fair_case::name;
using fair_case::random_case;
using fair_case::Ranges;
using fair_case::Tasks;
using fair_case::to_text;
using fair_case::wants;
using fair_case::wants_more;

// The number of tasks in each role's offers, from one decision about one agent with the whole pool.
std::vector<int64_t> produce(const Case& c) {
  Allocator allocator({});
  const Time now = Time() + seconds(1);
  allocator.set_agent(AgentId("agent"), {.slices = {Slice{.resources = {.amounts = c.pool}}}});
  for (size_t i = 0; i < c.demands.size(); ++i) {
    const Demand& demand = c.demands[i];
    if (demand.task.is_zero()) continue;
    const FrameworkId framework(name(i));
    const RoleName role(name(i));
    allocator.add_framework(framework, role, OfferMode::kAsks);
    allocator.set_role(role, {.weight = demand.weight});
    allocator.declare_asks(framework,
                           {{.name = AskName("task"),
                             .shape = demand.task,
                             .count = demand.count.value_or(1'000'000)}},
                           now);
  }
  std::vector<int64_t> tasks(c.demands.size(), 0);
  for (const Grant& grant : allocator.decide(now).grants) {
    const auto i = static_cast<size_t>(grant.framework.str()[0] - 'a');
    for (const AskFill& fill : grant.offer.fills) tasks[i] += fill.count;
  }
  for (const Violation& violation : allocator.violations()) {
    ADD_FAILURE() << violation.what << "\n" << to_text(c);
  }
  return tasks;
}

Tasks fractions(const std::vector<int64_t>& tasks) { return Tasks(tasks.begin(), tasks.end()); }

// The failed case as text.
std::string beside(const Case& c, size_t role, const Tasks& tasks, const Tasks& ideal) {
  return text(name(role), " is far from the oracle\nproduced: ", to_text(c, tasks),
              "oracle:   ", to_text(c, ideal));
}

// The weighted dominant share of the largest task.
Fraction largest_task(const Case& c) {
  Fraction largest;
  for (size_t i = 0; i < c.demands.size(); ++i) {
    if (ideal::can_run(c.pool, c.demands[i])) largest = std::max(largest, level(c, i, 1));
  }
  return largest;
}

// The number of tasks that each role gets before any role gets more than that. (Entitlements are
// rounded.)
std::vector<int64_t> entitled(const Case& c) {
  std::vector<int64_t> whole;
  const Tasks ideal = ideal::fill(c.pool, c.demands).value();
  for (const Fraction& tasks : ideal) {
    const int64_t floor = tasks.floor();
    whole.push_back(tasks < Fraction::of(256 * floor + 255, 256) ? floor : floor + 1);
  }
  return whole;
}

// A thousand clusters of one agent: up to six roles, three kinds, weights from 0.5 to 3, finite
// counts, kinds that a task does not need.
constexpr uint64_t kClusters = 1'000;
constexpr Ranges kOneAgent = {.roles_max = 6, .pool_min = 8, .pool_max = 80, .count_max = 20};

// Weighted shares as in the oracle, at most up to the point where the oracle first exhausts a kind.
// There some role stops, and the others continue with resources that the whole tasks of the rest
// happened to leave.
std::vector<Fraction> levels_up_to_first_stop(const Case& c, const Tasks& ideal) {
  std::vector<Fraction> levels;
  std::optional<Fraction> first_stop;
  for (size_t i = 0; i < ideal.size(); ++i) {
    levels.push_back(level(c, i, ideal[i]));
    if (!wants_more(c, i, ideal[i])) continue;
    if (!first_stop || levels[i] < *first_stop) first_stop = levels[i];
  }
  for (Fraction& each : levels) {
    if (first_stop) each = std::min(each, *first_stop);
  }
  return levels;
}

TEST(NearIdeal, EntitledTasksAreGivenFirstAndTheRestInTheOrderOfThePaper) {
  for (const uint64_t seed : Seeds(kClusters)) {
    Prng random(seed);
    const Case c = random_case(random, kOneAgent);
    const std::vector<int64_t> tasks = produce(c);
    ASSERT_EQ(tasks, ideal::fill_whole(c.pool, c.demands, entitled(c)).tasks)
        << "seed " << seed << "\n"
        << to_text(c, fractions(tasks));
  }
}

TEST(NearIdeal, EverySmallCaseIsGivenInThisOrder) {
  std::vector<Demand> demands;
  for (int64_t cpus = 0; cpus <= 4; ++cpus) {
    for (int64_t mem = 0; mem <= 4; ++mem) demands.push_back(wants(cpus, mem));
  }
  for (const Demand& a : demands) {
    for (const Demand& b : demands) {
      for (int64_t weight = 1; weight <= 2; ++weight) {
        Case c{.pool = ResourceVector::of(7000, 6000), .demands = {a, b, wants(1, 1, 2)}};
        c.demands[0].weight = weight * kWeightOne;
        const std::vector<int64_t> tasks = produce(c);
        ASSERT_EQ(tasks, ideal::fill_whole(c.pool, c.demands, entitled(c)).tasks)
            << to_text(c, fractions(tasks));
      }
    }
  }
}

TEST(NearIdeal, OrderOfThePaperIsWithinOneLargestTaskAsLongAsEverythingFits) {
  for (const uint64_t seed : Seeds(kClusters)) {
    Prng random(seed);
    const Case c = random_case(random, kOneAgent);
    const std::optional<Tasks> ideal = ideal::fill(c.pool, c.demands);
    ASSERT_TRUE(ideal.has_value()) << "seed " << seed << "\n" << to_text(c);
    const std::vector<Fraction> levels = levels_up_to_first_stop(c, *ideal);
    const Fraction largest = largest_task(c);
    const Tasks tasks = fractions(ideal::fill_whole(c.pool, c.demands).at_first_misfit);
    for (size_t i = 0; i < tasks.size(); ++i) {
      const Fraction mine = level(c, i, tasks[i]);
      ASSERT_TRUE(mine <= levels[i] + largest && levels[i] <= mine + largest)
          << "seed " << seed << ": until the first misfit " << beside(c, i, tasks, *ideal);
    }
  }
}

TEST(NearIdeal, NobodyEndsATaskBelow) {
  size_t roles = 0;
  size_t near = 0;
  for (const uint64_t seed : Seeds(kClusters)) {
    Prng random(seed);
    const Case c = random_case(random, kOneAgent);
    const Tasks ideal = ideal::fill(c.pool, c.demands).value();
    const std::vector<Fraction> levels = levels_up_to_first_stop(c, ideal);
    const Fraction largest = largest_task(c);
    const Tasks tasks = fractions(produce(c));
    for (size_t i = 0; i < tasks.size(); ++i) {
      const Fraction mine = level(c, i, tasks[i]);
      ASSERT_LE(levels[i], mine + largest) << "seed " << seed << ": " << beside(c, i, tasks, ideal);
      ASSERT_GE(tasks[i], Fraction(entitled(c)[i]))
          << "seed " << seed << ": " << beside(c, i, tasks, ideal);
      const Fraction ideally = level(c, i, ideal[i]);
      ++roles;
      if (mine <= ideally + largest && ideally <= mine + largest) ++near;
    }
  }
  // The other 1 % have or lack leftovers. The percentage is the same for many more clusters.
  EXPECT_GE(near * 100, roles * 99) << near << " of " << roles;
}

// If all roles need every kind, all stop together, and the bound below holds for the whole oracle.
TEST(NearIdeal, IsWithinOneLargestTaskOfTheWholeOracleIfAllNeedAllKinds) {
  Ranges ranges = kOneAgent;
  ranges.zeros = false;
  for (const uint64_t seed : Seeds(kClusters)) {
    Prng random(seed);
    const Case c = random_case(random, ranges);
    const Tasks ideal = ideal::fill(c.pool, c.demands).value();
    const Fraction largest = largest_task(c);
    const std::vector<int64_t> produced = produce(c);
    const ideal::WholeTasks whole = ideal::fill_whole(c.pool, c.demands, entitled(c));
    ASSERT_EQ(produced, whole.tasks) << "seed " << seed << "\n" << to_text(c);
    for (size_t i = 0; i < ideal.size(); ++i) {
      const Fraction ideally = level(c, i, ideal[i]);
      const Fraction mine = level(c, i, produced[i]);
      const bool has_leftovers = produced[i] > whole.at_first_misfit[i];
      ASSERT_TRUE(ideally <= mine + largest && (has_leftovers || mine <= ideally + largest))
          << "seed " << seed << ": " << beside(c, i, fractions(produced), ideal);
    }
  }
}

// A role that wants more lacks some kind. Even if every role with a larger weighted share gave up
// its use above its entitlement and one task, this kind would not be enough for one more task. With
// divisible tasks this is max-min fairness.
TEST(NearIdeal, WhoWantsMoreIsKeptFromItByNobodyWhoHasMuchMore) {
  for (const uint64_t seed : Seeds(kClusters)) {
    Prng random(seed);
    const Case c = random_case(random, kOneAgent);
    const Tasks tasks = fractions(produce(c));
    const std::vector<int64_t> first = entitled(c);
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (!wants_more(c, i, tasks[i])) continue;
      const Fraction mine = level(c, i, tasks[i]);
      bool justified = false;
      for (const ResourceKind kind : kResourceKinds) {
        if (c.demands[i].task[kind] == 0) continue;
        Fraction sum = (tasks[i] + 1) * c.demands[i].task[kind];
        for (size_t j = 0; j < tasks.size(); ++j) {
          if (j == i || c.demands[j].task[kind] == 0 || tasks[j].is_zero()) continue;
          const Fraction kept = std::max(mine / level(c, j, 1) + 1, Fraction(first[j]));
          sum += std::min(tasks[j], kept) * c.demands[j].task[kind];
        }
        justified = justified || sum > c.pool[kind];
      }
      ASSERT_TRUE(justified) << "seed " << seed << " " << name(i) << "\n" << to_text(c, tasks);
    }
  }
}

// Why "above" has no such bound: of 58 CPUs, a, with half the weight, has 6, the others have 12
// each, and four are left. a was served longest ago and takes two; the other two are too few for
// any other role. So a ends with 10, as 20 at full weight, where the ideal is 12.9. The difference
// is more than the largest task, which is 4 for a.
TEST(NearIdeal, WhatOthersCannotUseMayTakeOneFurtherAbove) {
  Case c{.pool = ResourceVector::of(58000, 0),
         .demands = {wants(2, 0), wants(3, 0), wants(3, 0), wants(3, 0), wants(3, 0)}};
  c.demands[0].weight = kWeightOne / 2;
  EXPECT_EQ(ideal::fill(c.pool, c.demands).value()[0], Fraction::of(58, 18));
  EXPECT_EQ(ideal::fill_whole(c.pool, c.demands).at_first_misfit,
            (std::vector<int64_t>{4, 4, 4, 4, 4}));
  EXPECT_EQ(produce(c), (std::vector<int64_t>{5, 4, 4, 4, 4}));
}

}  // namespace
}  // namespace proffer::near_ideal_test
