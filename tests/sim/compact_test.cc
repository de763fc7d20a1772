// The smallest number of agents that can run the work.

#include "sim/compact.h"

#include <gtest/gtest.h>

#include "sim/scenario_reader.h"

namespace proffer::sim::compact_test {
namespace {

proto::SimulateReport compact_text(const std::string& yaml) {
  const Result<Scenario> scenario = parse_scenario(yaml);
  if (!scenario) {
    ADD_FAILURE() << scenario.error().message();
    return {};
  }
  proto::SimulateReport report = compact(*scenario);
  EXPECT_TRUE(report.violations.empty());
  EXPECT_TRUE(report.compact.has_value());
  return report;
}

TEST(Compact, TwelveTasksOfOneCpuNeedThreeAgentsOfFour) {
  const proto::SimulateReport report = compact_text(R"(
until: 60s
agents: [{name: a, count: 10, resources: "cpus:4;mem:8GiB"}]
frameworks:
  - name: f
    tasks: [{name: t, count: 12, resources: "cpus:1;mem:1GiB", duration: forever}]
)");
  EXPECT_EQ(report.compact->agents, 3);
  EXPECT_EQ(report.compact->of, 10);
  EXPECT_EQ(report.compact->at_least, 3);
  EXPECT_EQ(report.end.agents.size(), 3u);
  EXPECT_EQ(report.end.frameworks.at("f").running, 12);
}

// Two agents would be enough by volume, but two tasks of three CPUs do not fit on one of them.
TEST(Compact, WhatTheVolumeNeedsIsALowerBound) {
  const proto::SimulateReport report = compact_text(R"(
until: 60s
agents: [{name: a, count: 8, resources: "cpus:5;mem:8GiB"}]
frameworks:
  - name: f
    tasks: [{name: t, count: 3, resources: "cpus:3;mem:1GiB", duration: forever}]
)");
  EXPECT_EQ(report.compact->agents, 3);
  EXPECT_EQ(report.compact->at_least, 2);
}

TEST(Compact, TheSmallAgentsGoFirst) {
  const proto::SimulateReport report = compact_text(R"(
until: 60s
agents:
  - {name: small, count: 6, resources: "cpus:2;mem:8GiB"}
  - {name: big, count: 2, resources: "cpus:8;mem:32GiB"}
frameworks:
  - name: f
    tasks: [{name: t, count: 9, resources: "cpus:1;mem:1GiB", duration: forever}]
)");
  EXPECT_EQ(report.compact->agents, 2);
  EXPECT_EQ(report.end.agents.count("big-0"), 1u);
}

// Agents with attributes that some task needs are kept, although they are the smallest.
TEST(Compact, AgentsThatSomeTaskNeedsAreKept) {
  const proto::SimulateReport report = compact_text(R"(
until: 60s
agents:
  - {name: plain, count: 6, resources: "cpus:8;mem:32GiB"}
  - {name: disk, count: 2, resources: "cpus:1;mem:1GiB", attributes: {disk: ssd}}
frameworks:
  - name: f
    tasks:
      - {name: t, count: 8, resources: "cpus:1;mem:2GiB", duration: forever}
      - {name: s, resources: "cpus:1;mem:1GiB", duration: forever, constraints: ["disk == ssd"]}
)");
  EXPECT_EQ(report.compact->agents, 2);
}

// Half an hour of work for two agents with one CPU; on one agent, half of the tasks would wait
// long.
TEST(Compact, TasksMayNotWaitMuchLongerThanWithAllAgents) {
  const proto::SimulateReport report = compact_text(R"(
agents: [{name: a, count: 6, resources: "cpus:1;mem:1GiB"}]
frameworks:
  - name: f
    tasks: [{name: t, count: 60, resources: "cpus:1;mem:1GiB", duration: 60s, arrives: every 30s}]
)");
  EXPECT_EQ(report.compact->agents, 2);
}

TEST(Compact, TasksMayWaitAMinute) {
  const proto::SimulateReport report = compact_text(R"(
agents: [{name: a, count: 6, resources: "cpus:1;mem:1GiB"}]
frameworks:
  - name: f
    tasks:
      - {name: long, count: 1, resources: "cpus:1;mem:1GiB", duration: 60s}
      - {name: short, count: 4, resources: "cpus:1;mem:1GiB", duration: 30s}
)");
  EXPECT_EQ(report.compact->agents, 3);
  EXPECT_EQ(report.end.frameworks.at("f").finished, 5);
}

TEST(Compact, AnAgentOnWhichTasksRunAtTheBeginningIsKept) {
  const proto::SimulateReport report = compact_text(R"(
until: 60s
agents: [{name: a, count: 4, resources: "cpus:4;mem:8GiB"}]
frameworks:
  - name: f
    tasks:
      - {name: t, count: 2, resources: "cpus:1;mem:1GiB", duration: forever,
         running: [{agent: a-1}, {agent: a-3}]}
)");
  EXPECT_EQ(report.compact->agents, 2);
  EXPECT_EQ(report.end.agents.count("a-1"), 1u);
  EXPECT_EQ(report.end.agents.count("a-3"), 1u);
}

TEST(Compact, WhatWaitsWithAllAgentsMayWaitWithFewer) {
  const proto::SimulateReport report = compact_text(R"(
until: 60s
agents: [{name: a, count: 4, resources: "cpus:2;mem:8GiB"}]
frameworks:
  - name: f
    tasks:
      - {name: huge, count: 2, resources: "cpus:64;mem:1GiB", duration: forever}
      - {name: t, count: 3, resources: "cpus:1;mem:1GiB", duration: forever}
)");
  EXPECT_EQ(report.compact->agents, 2);
  EXPECT_EQ(report.end.frameworks.at("f").pending, 2);
}

}  // namespace
}  // namespace proffer::sim::compact_test
