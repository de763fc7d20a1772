// Offers that frameworks hold without an answer: shipped scenarios with their figures, and a law
// over random clusters with silent and slow schedulers.

#include <cstdlib>

#include <gtest/gtest.h>

#include "sim/held_offers_law.h"
#include "sim/scenario_writer.h"
#include "tests/sim/shipped_scenarios.h"

namespace proffer::sim::held_offers_test {
namespace {

using Report = proto::SimulateReport;

constexpr NaiveRules kLeasesOnly = {.no_rescinds = true};

Duration longest_wait(const Report& report) { return report.end.frameworks.at("worker").wait_max; }

TEST(HeldOffers, ASilentHolderKeepsNoDemandBelowItsShareWaiting) {
  // Eight tasks wait for the first second of the holder's offers; later ones for nothing.
  const Report report = simulate_shipped("silent_holder");
  EXPECT_EQ(report.end.frameworks.at("worker").finished, 40);
  EXPECT_EQ(longest_wait(report), milliseconds(503));
  EXPECT_EQ(longest_wait(simulate_shipped("silent_holder", {}, kLeasesOnly)), milliseconds(29'503));
}

TEST(HeldOffers, AHolderThatAnswersJustBeforeTheLeaseEndsKeepsNoDemandWaiting) {
  const Report report = simulate_shipped("late_answers");
  EXPECT_EQ(report.end.frameworks.at("worker").finished, 40);
  EXPECT_LE(longest_wait(report), milliseconds(510));
  EXPECT_GE(longest_wait(simulate_shipped("late_answers", {}, kLeasesOnly)), seconds(20));
}

// --- the law ------------------------------------------------------------------------------------

constexpr Duration kEnd = seconds(120);
constexpr Duration kLookEvery = milliseconds(200);

ScenarioTasks some_tasks(Prng& random, const std::string& name) {
  ScenarioTasks tasks;
  tasks.name = name;
  tasks.count = random.between(1, 40);
  tasks.resources =
      ResourceVector::of(random.between(1, 8) * 500, random.between(0, 4) * 512 * 1000);
  tasks.duration = milliseconds(random.between(1, 60) * 500);
  tasks.arrives = milliseconds(random.between(0, 200) * 500);
  if (random.chance(1, 4)) {
    tasks.arrives = {};
    tasks.every = milliseconds(random.between(1, 20) * 500);
  }
  return tasks;
}

// Frameworks of all tempers, each in a role of its own; some are slow.
Scenario random_scenario(uint64_t seed) {
  Prng random(seed);
  Scenario scenario;
  scenario.seed = seed;
  scenario.until = kEnd;
  ResourceVector total;
  const int64_t agents = random.between(1, 6);
  for (int64_t i = 0; i < agents; ++i) {
    ScenarioAgent agent;
    agent.name = text("agent-", i);
    agent.resources.amounts =
        ResourceVector::of(random.between(4, 32) * 500, random.between(4, 32) * 512 * 1000);
    total += agent.resources.amounts;
    if (i > 0 && random.chance(1, 6)) agent.joins = seconds(random.between(1, 60));
    if (i > 0 && random.chance(1, 6)) agent.drains = seconds(random.between(10, 100));
    scenario.agents.push_back(agent);
  }
  const int64_t frameworks = random.between(2, 7);
  for (int64_t i = 0; i < frameworks; ++i) {
    ScenarioFramework framework;
    framework.name = text("f", i);
    framework.role = RoleName(text("r", i));
    RoleSettings settings;
    if (random.chance(1, 3)) settings.weight = random.between(1, 4) * 500;
    const auto part = [&](ResourceKind kind) { return total[kind] / (2 * frameworks); };
    if (random.chance(1, 5)) settings.guarantee.set(ResourceKind::kCpus, part(ResourceKind::kCpus));
    if (random.chance(1, 8)) settings.limit.set(ResourceKind::kCpus, part(ResourceKind::kCpus) * 3);
    if (settings != RoleSettings()) scenario.roles[framework.role] = settings;
    constexpr Takes kTempers[] = {Takes::kAsks, Takes::kAsks,  Takes::kAsks,
                                  Takes::kOpen, Takes::kHoard, Takes::kDecline};
    framework.takes = i == 0 ? Takes::kHoard : i == 1 ? Takes::kAsks : kTempers[random.below(6)];
    const bool is_slow = framework.takes == Takes::kDecline || (i > 1 && random.chance(1, 3));
    // What a framework with asks lets expire is not offered to it for a while.
    const int64_t slowest = framework.takes == Takes::kAsks ? 100 : 330;
    if (is_slow) framework.answers_after = milliseconds(random.between(1, slowest) * 100);
    if (random.chance(1, 3)) framework.joins = milliseconds(random.between(1, 80) * 500);
    if (random.chance(1, 8)) framework.leaves = framework.joins + seconds(random.between(5, 60));
    const bool works = framework.takes == Takes::kAsks || framework.takes == Takes::kOpen;
    const int64_t groups = works ? random.between(1, 2) : 0;
    for (int64_t g = 0; g < groups; ++g)
      framework.tasks.push_back(some_tasks(random, text("t", g)));
    scenario.frameworks.push_back(std::move(framework));
  }
  return scenario;
}

// $PROFFER_HELD_OFFERS_SEEDS, or `few` if it is not set.
uint64_t seeds(uint64_t few) {
  const char* many = std::getenv("PROFFER_HELD_OFFERS_SEEDS");
  return many == nullptr ? few : std::stoul(many);
}

// The first violation, if any.
std::string violated(uint64_t seed, const NaiveRules& naive, int64_t& tried) {
  const Scenario scenario = random_scenario(seed);
  ScenarioRun run(scenario, nullptr, naive);
  HeldOffersLaw law;
  std::string found;
  for (Duration at = kLookEvery; at < kEnd && found.empty(); at = at + kLookEvery) {
    run.run_until(at);
    const Time now = run.zero() + at;
    const master::Master& master = run.master();
    const MasterWord word{.roles = master.roles(),
                          .frameworks = master.frameworks(),
                          .live = master.live_snapshot(now)};
    for (const Violation& wrong : law.look(word, master.offers(), now)) {
      found = text("seed ", seed, " at ", to_text(at), ": ", wrong.what);
    }
    for (const Violation& wrong : run.world().violations()) found = wrong.what;
  }
  tried += law.tried();
  return found;
}

TEST(HeldOffers, NoDemandBelowItsShareWaitsForOldOffers) {
  int64_t tried = 0;
  for (uint64_t seed = 1; seed <= seeds(100); ++seed) {
    ASSERT_EQ(violated(seed, {}, tried), "") << to_yaml(random_scenario(seed));
  }
}

// The law would notice: with leases alone it is broken in many of the same clusters.
TEST(HeldOffers, LeasesAloneBreakTheLaw) {
  int64_t tried = 0;
  int64_t broken = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    broken += violated(seed, kLeasesOnly, tried).empty() ? 0 : 1;
  }
  EXPECT_GE(broken, 5);
}

}  // namespace
}  // namespace proffer::sim::held_offers_test
