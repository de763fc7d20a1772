// The scenarios of examples/scenarios give the figures that their comments promise.

#include <gtest/gtest.h>

#include "tests/sim/shipped_scenarios.h"

namespace proffer::sim::scenario_shipped_test {
namespace {

using Report = proto::SimulateReport;

TEST(ShippedScenarios, TheExampleOfTheDrfPaper) {
  const Report report = simulate_shipped("drf_paper");
  EXPECT_EQ(report.end.frameworks.at("A").running, 3);
  EXPECT_EQ(report.end.frameworks.at("B").running, 2);
  for (const char* name : {"A", "B"}) {
    EXPECT_EQ(report.end.frameworks.at(name).dominant_share, 667) << name;
    EXPECT_EQ(report.end.roles.at(name).dominant_share, 667) << name;
  }
  EXPECT_EQ(report.end.cluster.allocated, amounts("cpus:9;mem:14GiB"));
  EXPECT_EQ(report.end.cluster.utilisation[0], 1000);
  EXPECT_EQ(report.end.cluster.mean_utilisation[0], 1000);
}

// Each of the hoarder's leases ends, and its offers count as use: the worker's 64 tasks of a
// minute, which alone would take four minutes on 16 CPUs, take only a little longer.
TEST(ShippedScenarios, AHoarderKeepsNobodyFromHisWork) {
  const Report report = simulate_shipped("hoarder");
  EXPECT_EQ(report.end.frameworks.at("worker").finished, 64);
  EXPECT_EQ(report.end.frameworks.at("hoarder").allocated, ResourceVector());
  EXPECT_GE(report.end.cluster.makespan, minutes(4));
  EXPECT_LE(report.end.cluster.makespan, minutes(6));
}

TEST(ShippedScenarios, WithRoomForAllNobodyWaits) {
  const Report report = simulate_shipped("many_agents");
  for (const auto& [name, framework] : report.end.frameworks) {
    EXPECT_EQ(framework.finished, 65) << name;
    // An offer, an accept and a launch are one frame each.
    EXPECT_EQ(framework.wait_max, milliseconds(3)) << name;
  }
}

}  // namespace
}  // namespace proffer::sim::scenario_shipped_test
