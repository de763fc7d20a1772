// The masters of each seed, recorded and replayed: each run gives the same result.

#include "sim/life_recorder.h"

#include <cstdlib>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "master/recording/life_replay.h"
#include "sim/simulation.h"
#include "tests/sim/shipped_scenarios.h"
#include "tests/support/seeds.h"

namespace proffer::sim::life_recorder_test {
namespace {

using Lives = std::map<LeaderEpoch, std::vector<std::string>>;

LifeRecorder::Keep keeping(Lives& lives) {
  return [&lives](LeaderEpoch leader, std::vector<std::string> records) {
    std::vector<std::string>& all = lives[leader];
    std::move(records.begin(), records.end(), std::back_inserter(all));
  };
}

// The number of steps of all runs. A difference is a test failure.
uint64_t expect_same(const Lives& lives, const std::string& what) {
  uint64_t steps = 0;
  for (const auto& [leader, records] : lives) {
    master::LifeReplay life;
    const Result<void> told = life.take_all(records);
    EXPECT_TRUE(told.has_value()) << what << " leader " << leader.value();
    EXPECT_EQ(life.leader(), leader);
    EXPECT_EQ(life.version(), kSimulatedVersion);
    EXPECT_TRUE(life.is_same() || life.steps() == 0) << what << " leader " << leader.value();
    EXPECT_EQ(life.same_until(), life.steps()) << what << " leader " << leader.value();
    steps += life.steps();
  }
  return steps;
}

// The total number of runs of masters.
size_t replay_seeds(uint64_t first, uint64_t count, const std::string& workload) {
  size_t all = 0;
  for (uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    Lives lives;
    SimOptions options{.seed = seed, .workload = workload};
    options.record = keeping(lives);
    const SimReport report = simulate(options);
    const uint64_t steps = expect_same(lives, replay_command(report.options));
    EXPECT_GT(steps, 0u);
    if (seed == first) {
      EXPECT_EQ(simulate(report.options).hash, report.hash) << "recording changes it";
    }
    all += lives.size();
  }
  return all;
}

// $PROFFER_RECORDED_SEEDS, or `few` if it is not set.
uint64_t seeds_of(uint64_t few) {
  if (const char* many = std::getenv("PROFFER_RECORDED_SEEDS")) return std::stoul(many);
  return kIsSanitized ? 2 : few;
}

// Some masters have several runs, but not within the few seeds of sanitized builds.
void expect_replayed(uint64_t first, uint64_t seeds, const std::string& workload) {
  EXPECT_GE(replay_seeds(first, seeds, workload), kIsSanitized ? seeds : seeds + 1);
}

TEST(Recordings, OfSeedsAreReplayedToTheSame) { expect_replayed(5'001, seeds_of(20), ""); }

TEST(Recordings, OfSeveralMastersAreReplayedToTheSame) {
  expect_replayed(1, seeds_of(8), "masters");
}

// A recording has all decisions and all inputs of a master: a changed event gives a different
// result.
TEST(Recordings, OfAnotherSeedAreOthers) {
  Lives one;
  Lives other;
  SimOptions options{.seed = 3, .workload = "many_small", .agents = 2, .faults = FaultKinds()};
  options.record = keeping(one);
  simulate(options);
  options.seed = 4;
  options.record = keeping(other);
  simulate(options);
  ASSERT_EQ(one.size(), 1u);
  ASSERT_EQ(other.size(), 1u);
  // The header of one recording with the events of the other.
  std::vector<std::string> mixed = one.begin()->second;
  const std::vector<std::string>& rest = other.begin()->second;
  const size_t kept = std::min<size_t>(mixed.size(), 40);
  mixed.resize(kept);
  mixed.insert(mixed.end(), rest.begin() + static_cast<std::ptrdiff_t>(kept), rest.end());
  master::LifeReplay life;
  const Result<void> told = life.take_all(mixed);
  EXPECT_TRUE(!told || !life.is_same());
}

// A scenario has one master, which ends and restarts in the middle.
TEST(Recordings, OfAScenarioWhoseMasterEndsAreTwoLives) {
  Lives lives;
  LifeRecorder recorder(keeping(lives));
  const Result<Scenario> scenario = parse_scenario(R"(
agents: [{name: a, count: 4, resources: "cpus:4;mem:8GiB"}]
roles: [{name: x, weight: 2}]
frameworks:
  - {name: f, role: x,
     tasks: [{name: t, count: 60, resources: "cpus:1;mem:1GiB",
              duration: 10s, arrives: every 1s}]}
  - {name: g, role: y, tasks: [{name: t, count: 60, resources: "cpus:2;mem:1GiB", duration: 5s}]}
)");
  ASSERT_TRUE(scenario.has_value()) << scenario.error().message();
  ScenarioRun run(*scenario, nullptr, {}, {.watcher = &recorder});
  run.world().at(run.zero() + seconds(30), [&] { run.master_node().crash(); });
  run.world().at(run.zero() + seconds(32), [&] { run.master_node().start(); });
  const proto::SimulateReport report = run.run();
  recorder.ends();
  EXPECT_TRUE(report.violations.empty());
  EXPECT_EQ(report.end.frameworks.at("f").finished, 60);
  EXPECT_EQ(report.end.frameworks.at("g").finished, 60);
  ASSERT_EQ(lives.size(), 2u);
  EXPECT_GT(expect_same(lives, "scenario"), 500u);
}

}  // namespace
}  // namespace proffer::sim::life_recorder_test
