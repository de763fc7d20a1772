// The effect of a scenario's keys in a simulation.

#include <sstream>

#include <gtest/gtest.h>

#include "tests/sim/shipped_scenarios.h"

namespace proffer::sim::scenario_run_test {
namespace {

using Report = proto::SimulateReport;

TEST(ScenarioRun, EndsWhenNothingIsPendingOrRunning) {
  const Report report = simulate_text(R"(
agents: [{name: a, resources: "cpus:1"}]
frameworks: [{name: f, tasks: [{name: t, count: 3, resources: "cpus:1", duration: 10s}]}]
)");
  const Report::Framework& framework = report.end.frameworks.at("f");
  EXPECT_EQ(framework.finished, 3);
  EXPECT_EQ(framework.pending, 0);
  // One task after another; between two of them the end is reported, and the next is offered,
  // accepted and launched.
  EXPECT_EQ(report.end.cluster.makespan, seconds(30) + milliseconds(3 + 4 + 4 + 2));
  EXPECT_EQ(framework.wait_p50, seconds(10) + milliseconds(3 + 4));
  EXPECT_EQ(framework.wait_max, seconds(20) + milliseconds(3 + 4 + 4));
  EXPECT_EQ(report.end.at, report.end.cluster.makespan);
  EXPECT_EQ(report.end.agents.at("a").state, "connected");
  EXPECT_TRUE(report.end.agents.at("a").tasks.empty());
}

TEST(ScenarioRun, WhatNeverFitsIsPendingAfterADay) {
  const Report report = simulate_text(R"(
agents: [{name: a, resources: "cpus:1"}]
frameworks: [{name: f, tasks: [{name: t, resources: "cpus:2", duration: 10s}]}]
)");
  EXPECT_EQ(report.end.at, hours(24));
  EXPECT_EQ(report.end.frameworks.at("f").pending, 1);
  EXPECT_EQ(report.end.cluster.makespan, Duration());
}

// All joins at one instant are known before any decision: neither the order in the file nor the
// number of frames to declare asks gives an advantage.
TEST(ScenarioRun, WhatHappensAtOneInstantIsKnownBeforeAnythingIsDecided) {
  const std::string late = R"(
until: 40s
agents:
  - {name: a, resources: "cpus:4;mem:4GiB", joins: 30s}
frameworks:
  - {name: early, role: early, tasks: [{name: t, count: 9, resources: "cpus:1", duration: forever}]}
  - {name: late, role: late, joins: 30s,
     tasks: [{name: t, count: 9, resources: "cpus:1", duration: forever}]}
  - {name: open, role: open, joins: 30s, takes: open,
     tasks: [{name: t, count: 9, resources: "cpus:1", duration: forever}]}
)";
  const Report report = simulate_text(late);
  EXPECT_EQ(report.end.frameworks.at("early").running, 1);
  EXPECT_EQ(report.end.frameworks.at("late").running, 1);
  EXPECT_EQ(report.end.frameworks.at("open").running,
            2);  // the rest, within its fair share
}

TEST(ScenarioRun, SnapshotsShowTheirMoment) {
  const Report report = simulate_text(R"(
report_at: [5s, 15s]
agents: [{name: a, resources: "cpus:2;mem:1GiB"}]
frameworks:
  - name: f
    tasks: [{name: t, count: 4, resources: "cpus:1;mem:128", duration: 10s, arrives: every 4s}]
)");
  ASSERT_EQ(report.snapshots.size(), 2u);
  EXPECT_EQ(report.snapshots[0].at, seconds(5));
  EXPECT_EQ(report.snapshots[0].frameworks.at("f").running, 2);
  EXPECT_EQ(report.snapshots[0].agents.at("a").tasks, (std::vector<std::string>{"f/t-0", "f/t-1"}));
  EXPECT_EQ(report.snapshots[0].agents.at("a").allocated, amounts("cpus:2;mem:256"));
  EXPECT_EQ(report.snapshots[1].frameworks.at("f").finished, 2);
  EXPECT_EQ(report.snapshots[1].frameworks.at("f").running, 2);
  EXPECT_EQ(report.end.frameworks.at("f").finished, 4);
}

TEST(ScenarioRun, TasksOfAnAgentThatCrashesRunAgain) {
  const Report report = simulate_text(R"(
report_at: [25s, 60s, 90s, 120s]
until: 200s
agents:
  - {name: a, resources: "cpus:1", leaves: 20s, returns: 100s}
  - {name: b, resources: "cpus:1", joins: 80s}
frameworks: [{name: f, tasks: [{name: t, resources: "cpus:1", duration: 60s}]}]
)");
  // The master notices the lost connection at once, and gives the agent up after agent_timeout.
  EXPECT_EQ(report.snapshots[0].agents.at("a").state, "disconnected");
  EXPECT_EQ(report.snapshots[0].agents.at("b").state, "absent");
  EXPECT_EQ(report.snapshots[0].frameworks.at("f").pending, 1);
  EXPECT_EQ(report.snapshots[0].frameworks.at("f").lost, 0);
  EXPECT_EQ(report.snapshots[1].agents.at("a").state, "unreachable");
  EXPECT_EQ(report.snapshots[1].frameworks.at("f").lost, 1);
  EXPECT_EQ(report.snapshots[2].agents.at("b").tasks, (std::vector<std::string>{"f/t-0"}));
  EXPECT_EQ(report.snapshots[3].agents.at("a").state, "connected");
  EXPECT_EQ(report.end.frameworks.at("f").finished, 1);
  EXPECT_EQ(report.end.frameworks.at("f").lost, 1);
}

TEST(ScenarioRun, AnAgentThatIsBackAtOnceHasLostItsTasksToo) {
  const Report report = simulate_text(R"(
until: 100s
agents: [{name: a, resources: "cpus:1", leaves: 20s, returns: 25s}]
frameworks: [{name: f, tasks: [{name: t, resources: "cpus:1", duration: 60s}]}]
)");
  EXPECT_EQ(report.end.frameworks.at("f").finished, 1);
  EXPECT_EQ(report.end.frameworks.at("f").lost, 1);
}

TEST(ScenarioRun, AFrameworkThatLeavesGivesAllBack) {
  const Report report = simulate_text(R"(
report_at: [9s, 11s]
until: 60s
agents: [{name: a, resources: "cpus:4"}]
frameworks:
  - {name: f, leaves: 10s, tasks: [{name: t, count: 8, resources: "cpus:1", duration: forever}]}
  - {name: g, joins: 5s, tasks: [{name: t, count: 4, resources: "cpus:1", duration: forever}]}
)");
  EXPECT_EQ(report.snapshots[0].frameworks.at("f").running, 4);
  EXPECT_EQ(report.snapshots[1].frameworks.at("f").running, 0);
  EXPECT_EQ(report.snapshots[1].frameworks.at("f").pending, 0);
  EXPECT_EQ(report.snapshots[1].frameworks.at("g").running, 4);
}

TEST(ScenarioRun, WhatRunsAtTheBeginningGoesOn) {
  const Report report = simulate_text(R"(
report_at: [0s, 25s]
agents:
  - {name: a, resources: "cpus:4;mem:4GiB"}
  - {name: b, resources: "cpus:4;mem:4GiB"}
frameworks:
  - name: f
    role: eng
    tasks:
      - name: t
        count: 4
        resources: "cpus:2;mem:1GiB"
        duration: 60s
        running: [{agent: a, count: 2, since: 40s}, {agent: b, since: 10s}]
)");
  const Report::Picture& begins = report.snapshots[0];
  EXPECT_EQ(begins.frameworks.at("f").running, 3);
  EXPECT_EQ(begins.frameworks.at("f").pending, 1);
  EXPECT_EQ(begins.cluster.allocated, amounts("cpus:6;mem:3GiB"));
  EXPECT_EQ(begins.agents.at("a").tasks, (std::vector<std::string>{"f/t-0", "f/t-1"}));
  EXPECT_EQ(begins.agents.at("b").tasks, (std::vector<std::string>{"f/t-2"}));
  EXPECT_EQ(report.snapshots[1].frameworks.at("f").finished, 2);
  EXPECT_EQ(report.snapshots[1].frameworks.at("f").running, 2);
  EXPECT_EQ(report.end.frameworks.at("f").finished, 4);
  EXPECT_EQ(report.end.frameworks.at("f").wait_max, milliseconds(3));
  EXPECT_EQ(report.end.cluster.makespan, seconds(60) + milliseconds(5));
}

TEST(ScenarioRun, WhoDeclinesEverythingGetsNothingAndStopsNobody) {
  const Report report = simulate_text(R"(
agents: [{name: a, resources: "cpus:2;mem:1GiB"}]
frameworks:
  - {name: picky, role: picky, takes: decline}
  - {name: f, role: f, tasks: [{name: t, count: 4, resources: "cpus:1", duration: 10s}]}
)");
  EXPECT_EQ(report.end.frameworks.at("f").finished, 4);
  EXPECT_GT(report.end.cluster.declined, 0);
  EXPECT_LT(report.end.cluster.makespan, seconds(60));
}

TEST(ScenarioRun, OpenOffersAreTakenByFirstFitAndConstraint) {
  const Report report = simulate_text(R"(
until: 30s
agents:
  - {name: a, resources: "cpus:4;mem:4GiB", attributes: {disk: hdd}}
  - {name: b, resources: "cpus:4;mem:4GiB", attributes: {disk: ssd}}
frameworks:
  - name: f
    takes: open
    tasks:
      - {name: low, count: 9, resources: "cpus:1", duration: forever}
      - {name: high, count: 2, resources: "cpus:1", duration: forever, priority: 1,
         constraints: [disk == ssd]}
)");
  EXPECT_EQ(report.end.frameworks.at("f").running, 8);
  EXPECT_EQ(report.end.agents.at("b").tasks,
            (std::vector<std::string>{"f/low-4", "f/low-5", "f/high-0", "f/high-1"}));
}

TEST(ScenarioRun, ThePlacementPolicyIsAnOption) {
  const std::pair<const char*, const char*> rows[] = {{"balanced", "small"},
                                                      {"best_fit", "small"},
                                                      {"worst_fit", "large"},
                                                      {"spread", "large"},
                                                      {"fgd", "small"}};
  for (const auto& [policy, agent] : rows) {
    const Report report = simulate_text(std::string("options: {placement: ") + policy + R"(}
until: 30s
agents:
  - {name: large, resources: "cpus:8;mem:8GiB"}
  - {name: small, resources: "cpus:4;mem:4GiB"}
frameworks: [{name: f, tasks: [{name: t, resources: "cpus:1;mem:1GiB", duration: forever}]}]
)");
    EXPECT_EQ(report.end.agents.at(agent).tasks, std::vector<std::string>{"f/t-0"}) << policy;
  }
}

TEST(ScenarioRun, ALossyNetworkOnlyCostsTime) {
  const Report report = simulate_text(R"(
seed: 3
network: {delay: 5ms, loss: 0.01, duplicate: 0.02}
agents: [{name: a, count: 4, resources: "cpus:4"}]
frameworks:
  - {name: f, tasks: [{name: t, count: 100, resources: "cpus:1", duration: 10s}]}
  - {name: g, tasks: [{name: t, count: 100, resources: "cpus:1", duration: 10s}]}
)");
  EXPECT_EQ(report.end.frameworks.at("f").finished, 100);
  EXPECT_EQ(report.end.frameworks.at("g").finished, 100);
}

// 1,000 tasks with room for all: the makespan is the longest duration, within mean × (1 ± spread).
TEST(ScenarioRun, DurationsAreDrawnEvenlyAroundTheirMean) {
  const Scenario scenario = parse_scenario(R"(
seed: 5
until: 1m
report_at: [10s, 20s]
agents: [{name: a, count: 10, resources: "cpus:100"}]
frameworks:
  - name: f
    tasks: [{name: t, count: 1000, resources: "cpus:1", duration: {mean: 20s, spread: 0.5}}]
)")
                                .value();
  const Report report = ScenarioRun(scenario).run();
  EXPECT_EQ(report.snapshots[0].frameworks.at("f").finished, 0);
  const int64_t half = report.snapshots[1].frameworks.at("f").finished;
  EXPECT_GT(half, 450);
  EXPECT_LT(half, 550);
  EXPECT_EQ(report.end.frameworks.at("f").finished, 1000);
  EXPECT_GT(report.end.cluster.makespan, milliseconds(29'800));
  EXPECT_LT(report.end.cluster.makespan, milliseconds(30'010));
}

TEST(ScenarioRun, DurationsDependOnTheSeedTheTaskAndItsLaunchAlone) {
  ScenarioTasks tasks{.name = "t", .duration = seconds(20), .duration_spread = 500'000};
  const auto lasts = [&](uint64_t seed, std::string_view framework, int64_t number,
                         int64_t launch) {
    return tasks.duration_of(seed, framework, number, launch);
  };
  EXPECT_EQ(lasts(1, "f", 0, 1), lasts(1, "f", 0, 1));
  EXPECT_NE(lasts(1, "f", 0, 1), lasts(2, "f", 0, 1));
  EXPECT_NE(lasts(1, "f", 0, 1), lasts(1, "g", 0, 1));
  EXPECT_NE(lasts(1, "f", 0, 1), lasts(1, "f", 1, 1));
  EXPECT_NE(lasts(1, "f", 0, 1), lasts(1, "f", 0, 2));
  tasks.duration_spread = 0;
  EXPECT_EQ(lasts(1, "f", 0, 1), seconds(20));
  tasks.duration.reset();
  EXPECT_EQ(lasts(1, "f", 0, 1), std::nullopt);
}

TEST(ScenarioRun, TheSameFileAndSeedGiveTheSameTrace) {
  const Scenario scenario = parse_scenario(shipped_scenario("hoarder")).value();
  std::ostringstream seen;
  const Report first = ScenarioRun(scenario).run();
  const Report watched = ScenarioRun(scenario, &seen).run();
  EXPECT_EQ(first, watched);
  EXPECT_NE(seen.str().find("offer made"), std::string::npos);
  Scenario other = scenario;
  other.agents[0].count = 3;
  EXPECT_NE(ScenarioRun(other).run().trace_hash, first.trace_hash);
}

TEST(ScenarioRun, PercentilesAreByNearestRank) {
  std::vector<Duration> values;
  for (int i = 200; i > 0; --i) values.push_back(seconds(i));
  EXPECT_EQ(percentile(values, 50), seconds(100));
  EXPECT_EQ(percentile(values, 99), seconds(198));
  EXPECT_EQ(percentile(values, 100), seconds(200));
  EXPECT_EQ(percentile({seconds(7)}, 50), seconds(7));
  EXPECT_EQ(percentile({}, 99), Duration());
}

}  // namespace
}  // namespace proffer::sim::scenario_run_test
