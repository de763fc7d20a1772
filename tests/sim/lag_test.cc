// What the lag shows in scenarios: it grows where a framework is held below its entitlement, and
// stays low where one has it.

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "common/text.h"
#include "tests/sim/shipped_scenarios.h"

namespace proffer::sim::lag_test {
namespace {

using Report = proto::SimulateReport;

// Two frameworks with endless short tasks share one machine. With a `service`, a third one has
// taken 16 of its 20 CPUs before, for 20 minutes.
Report simulate(bool service) {
  std::string yaml = R"(
until: 40m
report_at: [10m, 15m, 30m]
agents: [{name: a, count: 1, resources: "cpus:20;mem:20GiB"}]
frameworks:
)";
  for (const char* name : {"late", "other"}) {
    yaml += text("- name: ", name, "\n  role: eng/", name, R"(
  joins: 1m
  tasks: [{name: t, count: 100000, resources: "cpus:1;mem:1GiB",
           duration: {mean: 20s, spread: 0.5}}]
)");
  }
  if (service) {
    yaml += R"(- name: service
  tasks: [{name: s, count: 16, resources: "cpus:1;mem:1GiB", duration: 20m}]
)";
  }
  return simulate_text(yaml);
}

TEST(LagInScenario, StaysLowAtTheEntitlement) {
  const Report report = simulate(false);
  for (const char* name : {"late", "other"}) {
    EXPECT_LE(report.end.frameworks.at(name).lag, seconds(5)) << name;
    EXPECT_LE(report.end.frameworks.at(name).lag_most, seconds(5)) << name;
    EXPECT_GT(report.end.frameworks.at(name).pending, 0) << name;
  }
}

// Their role is entitled to the half of 20 CPUs, each of them to 5, and each uses 2: it lacks six
// tenths of its part. The service, which has more than its part, waits for nothing.
TEST(LagInScenario, GrowsWhileALongServiceHoldsTheEntitlement) {
  const Report report = simulate(true);
  for (const char* name : {"late", "other"}) {
    const auto at = [&](size_t i) {
      return (report.snapshots[i].frameworks.at(name).lag.millis() + 500) / 1'000;
    };
    EXPECT_EQ(at(0), 324) << name;  // 0.6 of nine minutes
    EXPECT_EQ(at(1), 504) << name;
    // The service has ended, and each has its half: what was lacked grows no more.
    EXPECT_EQ(at(2), 684) << name;
    EXPECT_LE(report.end.frameworks.at(name).lag, seconds(685)) << name;
    EXPECT_LE(report.end.frameworks.at(name).lag_most, seconds(685)) << name;
  }
  EXPECT_EQ(report.end.frameworks.at("service").lag_most, Duration());
  const Report::Role& eng = report.snapshots[0].roles.at("eng");
  EXPECT_EQ(eng.lag, std::max(report.snapshots[0].frameworks.at("late").lag,
                              report.snapshots[0].frameworks.at("other").lag));
}

// A framework that has left and a role without frameworks keep their greatest lag.
TEST(LagInScenario, TheGreatestIsKeptWhenAFrameworkLeaves) {
  const Report report = simulate_text(R"(
until: 20m
agents: [{name: a, count: 1, resources: "cpus:10;mem:10GiB"}]
frameworks:
- name: service
  tasks: [{name: s, count: 10, resources: "cpus:1;mem:1GiB", duration: 60m}]
- name: late
  joins: 5m
  leaves: 10m
  tasks: [{name: t, count: 50, resources: "cpus:1;mem:1GiB", duration: 20s}]
)");
  const Report::Framework& late = report.end.frameworks.at("late");
  EXPECT_EQ(late.lag, Duration());
  EXPECT_GE(late.lag_most, seconds(298));
  EXPECT_LE(late.lag_most, seconds(301));
  EXPECT_EQ(report.end.roles.at(late.role.str()).lag_most, late.lag_most);
}

}  // namespace
}  // namespace proffer::sim::lag_test
