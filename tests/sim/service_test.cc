// Apps on the production service core, with its store, under the simulator's faults: at the end
// each app must run as wanted, and leave nothing when it is stopped.

#include <gtest/gtest.h>

#include "sim/simulation.h"
#include "tests/support/seeds.h"

namespace proffer::sim::service_test {
namespace {

TEST(Service, ItsAppsComeThroughDisasters) {
  for (uint64_t seed = 2'001; seed < 2'001 + seeds_of_a_workload(); ++seed) {
    const SimReport report = simulate({.seed = seed, .workload = "service"});
    EXPECT_TRUE(report.ok()) << "reproduce it: " << replay_command(report.options) << " --trace\n"
                             << (report.violations.empty() ? "" : report.violations[0].what);
    EXPECT_GT(report.tasks, 0u);
    if (HasFailure()) return;
  }
}

TEST(Service, TheSameSeedIsTheSameStory) {
  const SimOptions options{.seed = 7, .workload = "service"};
  EXPECT_EQ(simulate(options).hash, simulate(options).hash);
}

}  // namespace
}  // namespace proffer::sim::service_test
