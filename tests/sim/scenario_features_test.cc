// Quotas, gangs, drains and other features of asks: the scenarios of examples/scenarios that need
// them, with their figures.

#include <gtest/gtest.h>

#include "tests/sim/shipped_scenarios.h"

namespace proffer::sim::scenario_features_test {
namespace {

using Report = proto::SimulateReport;

TEST(ShippedScenarios, WhatIsBorrowedComesBackAndIsBorrowedAgain) {
  const Report report = simulate_shipped("borrow_and_return");
  const auto running = [&](size_t at, const char* framework) {
    return report.snapshots[at].frameworks.at(framework).running;
  };
  EXPECT_EQ(running(0, "train"), 80);
  EXPECT_EQ(running(1, "train"), 40);
  EXPECT_EQ(running(1, "web"), 40);
  EXPECT_TRUE(report.snapshots[1].roles.at("production").guarantee_met);
  EXPECT_EQ(running(2, "train"), 80);
  // Exactly the borrowed tasks, all within the notice and the minimum runtime.
  EXPECT_EQ(report.end.cluster.preempted, 40);
  EXPECT_EQ(report.end.frameworks.at("web").finished, 40);
  EXPECT_EQ(report.end.frameworks.at("web").preempted, 0);
  EXPECT_LE(report.end.frameworks.at("web").wait_max, seconds(45));
}

TEST(ShippedScenarios, GangsAreStartedWholeAndDoNotStarve) {
  const Report report = simulate_shipped("gangs");
  EXPECT_EQ(report.end.frameworks.at("gangs").finished, 32);
  EXPECT_EQ(report.end.frameworks.at("gangs").preempted, 0);
  EXPECT_LE(report.end.frameworks.at("gangs").wait_max, minutes(15));
  EXPECT_GT(report.end.cluster.mean_utilisation[0], 800);
}

TEST(ShippedScenarios, WorkWithoutGpusLeavesThemAlone) {
  const Report report = simulate_shipped("gpu_island");
  for (const auto& [name, agent] : report.snapshots[0].agents) {
    EXPECT_EQ(agent.tasks.size(), name.starts_with("gpu") ? 0u : 8u) << name;
  }
  EXPECT_EQ(report.snapshots[1].frameworks.at("train").running, 8);
  EXPECT_EQ(report.end.frameworks.at("train").wait_max, milliseconds(3));
  EXPECT_EQ(report.end.frameworks.at("web").wait_max, milliseconds(3));
}

TEST(ShippedScenarios, ShortTasksUseTheClaimOfAGangAndDoNotDelayIt) {
  const Report with = simulate_shipped("backfill");
  const Report without = simulate_shipped("backfill", {}, {.no_backfill_from = Time()});
  for (const Report* report : {&with, &without}) {
    EXPECT_EQ(report->end.frameworks.at("mpi").finished, 4);
    EXPECT_EQ(report->end.frameworks.at("short").finished, 56);
    EXPECT_EQ(report->end.cluster.preempted, 0);
  }
  EXPECT_LE(with.end.frameworks.at("mpi").wait_max, without.end.frameworks.at("mpi").wait_max);
  EXPECT_LE(with.end.frameworks.at("mpi").wait_max, minutes(30));
  EXPECT_LE(with.end.frameworks.at("short").wait_max, minutes(22));
  EXPECT_GE(without.end.frameworks.at("short").wait_max, minutes(33));
}

TEST(ShippedScenarios, ARackIsDrained) {
  const Report report = simulate_shipped("drain_a_rack");
  const auto on_rack = [&](size_t at, char rack) {
    size_t tasks = 0;
    for (const auto& [name, agent] : report.snapshots[at].agents) {
      if (name.front() == rack) tasks += agent.tasks.size();
    }
    return tasks;
  };
  EXPECT_EQ(on_rack(0, 'a'), 16u);
  EXPECT_EQ(on_rack(0, 'b'), 16u);
  EXPECT_EQ(on_rack(1, 'a'), 16u);  // they run to the end of their grace period
  EXPECT_EQ(report.snapshots[1].agents.at("a-0").state, "draining");
  EXPECT_EQ(on_rack(2, 'a'), 0u);
  EXPECT_EQ(on_rack(2, 'b'), 32u);
  EXPECT_EQ(report.end.frameworks.at("f").finished, 16);
  EXPECT_EQ(report.end.frameworks.at("f").lost, 0);
  EXPECT_EQ(report.end.frameworks.at("f").preempted, 0);
}

TEST(ScenarioFeatures, ADrainThatEndsGivesTheAgentBack) {
  const Report report = simulate_text(R"(
until: 60s
report_at: [15s, 45s]
agents:
  - {name: a, resources: "cpus:2;mem:2GiB", drains: 5s, drain_grace: 1s, undrains: 20s}
frameworks:
  - {name: f, tasks: [{name: t, count: 2, resources: "cpus:1;mem:1GiB", duration: forever}]}
)");
  EXPECT_EQ(report.snapshots[0].agents.at("a").state, "draining");
  EXPECT_TRUE(report.snapshots[0].agents.at("a").tasks.empty());
  EXPECT_EQ(report.snapshots[1].agents.at("a").state, "connected");
  EXPECT_EQ(report.snapshots[1].agents.at("a").tasks.size(), 2u);
}

TEST(ScenarioFeatures, ALimitIsNeverExceeded) {
  const Report report = simulate_text(R"(
until: 60s
agents: [{name: a, resources: "cpus:16;mem:16GiB"}]
roles: [{name: eng, limit: "cpus:4"}]
frameworks:
  - {name: f, role: eng/x, tasks: [{name: t, count: 9, resources: "cpus:1", duration: forever}]}
  - {name: g, role: eng, tasks: [{name: t, count: 9, resources: "cpus:1", duration: forever}]}
)");
  EXPECT_EQ(report.end.roles.at("eng").allocated, amounts("cpus:4"));
  EXPECT_EQ(report.end.frameworks.at("f").running, 2);
  EXPECT_EQ(report.end.frameworks.at("g").running, 2);
}

TEST(ScenarioFeatures, WhatIsReservedIsForItsRoleAlone) {
  const Report report = simulate_text(R"(
until: 60s
agents: [{name: a, resources: "cpus:4;mem:4GiB", reserved: {ads: "cpus:3;mem:3GiB"}}]
frameworks:
  - {name: f, role: other, tasks: [{name: t, count: 9, resources: "cpus:1", duration: forever}]}
  - {name: g, role: ads/web, joins: 10s,
     tasks: [{name: t, count: 9, resources: "cpus:1", duration: forever}]}
)");
  EXPECT_EQ(report.end.frameworks.at("f").running, 1);
  EXPECT_EQ(report.end.frameworks.at("g").running, 3);
}

TEST(ScenarioFeatures, WhatRunsInAReservationAtTheBeginningStaysThere) {
  const Report report = simulate_text(R"(
until: 60s
agents: [{name: a, resources: "cpus:4;mem:4GiB", reserved: {ads: "cpus:3;mem:3GiB"}}]
frameworks:
  - {name: f, role: other, tasks: [{name: t, count: 9, resources: "cpus:1", duration: forever}]}
  - {name: g, role: ads,
     tasks: [{name: t, count: 3, resources: "cpus:1", duration: forever,
              running: [{agent: a, count: 3, since: 10s}]}]}
)");
  EXPECT_EQ(report.end.frameworks.at("f").running, 1);
  EXPECT_EQ(report.end.frameworks.at("g").running, 3);
}

TEST(ScenarioFeatures, MembersOfAGangThatAreLostComeBackAlone) {
  const Report report = simulate_text(R"(
until: 10m
agents:
  - {name: a, resources: "cpus:2", leaves: 60s, returns: 200s}
  - {name: b, resources: "cpus:2"}
frameworks:
  - {name: f, tasks: [{name: g, count: 4, gang: 4, resources: "cpus:1", duration: 5m}]}
)");
  EXPECT_EQ(report.end.frameworks.at("f").lost, 2);
  EXPECT_EQ(report.end.frameworks.at("f").finished, 4);
  EXPECT_EQ(report.end.frameworks.at("f").wait_max, milliseconds(3));
}

TEST(ScenarioFeatures, OneDepartmentGetsItsGuaranteeFromWhatRanAtTheBeginning) {
  const Report report = simulate_text(R"(
until: 2m
agents: [{name: a, resources: "cpus:4;mem:4GiB"}]
roles: [{name: prod, guarantee: "cpus:2"}]
options: {minimum_runtime: 5s, revoke_grace: 10s}
frameworks:
  - {name: f, role: dev,
     tasks: [{name: t, count: 4, resources: "cpus:1", duration: forever,
              running: [{agent: a, count: 4, since: 10m}]}]}
  - {name: g, role: prod, joins: 30s,
     tasks: [{name: t, count: 2, resources: "cpus:1", duration: forever}]}
)");
  EXPECT_EQ(report.end.frameworks.at("f").running, 2);
  EXPECT_EQ(report.end.frameworks.at("f").preempted, 2);
  EXPECT_EQ(report.end.frameworks.at("g").running, 2);
}

}  // namespace
}  // namespace proffer::sim::scenario_features_test
