// Starts lie below the time that is told for them as often as is said: in three kinds of work, with
// forecasts made from live snapshots and from what was known by then, after a third of the time, in
// which the master learns. $PROFFER_LONG tries many more instants.

#include <cstdlib>

#include <gtest/gtest.h>

#include "sim/forecast.h"
#include "tests/support/eta/eta_trial.h"

namespace proffer::sim::eta_test {
namespace {

using eta_trial::Trial;
using eta_trial::TrialOptions;
using eta_trial::Workload;

bool is_long() { return std::getenv("PROFFER_LONG") != nullptr; }

void expect_calibrated(Workload workload) {
  TrialOptions options{.seed = 1, .runs = 5};
  if (is_long()) options = {.seed = 2, .lasts = hours(12), .asked_every = seconds(60), .runs = 20};
  const Trial trial = eta_trial::run_trial(workload, options);
  const proto::EtaFigures& told = trial.later;
  SCOPED_TRACE(::testing::Message()
               << eta_trial::to_text(workload) << ": " << trial.forecasts << " forecasts, "
               << told.starts << " starts, " << told.below_p50 << " below p50, " << told.below_p90
               << " below p90");
  ASSERT_GE(told.starts, 50);
  EXPECT_GE(told.below_p90 * 100, told.starts * 85);
  EXPECT_LE(told.below_p90 * 100, told.starts * 95);
}

TEST(Eta, NineOfTenStartsOfWavesWithHeavyTailsAreBelowP90) { expect_calibrated(Workload::kWaves); }
TEST(Eta, NineOfTenStartsOfUnequalRolesUnderChurnAreBelowP90) {
  if (!is_long()) GTEST_SKIP() << "not run: it takes ten seconds; ./test --long";
  expect_calibrated(Workload::kWeights);
}
TEST(Eta, NineOfTenStartsOfGangsBesideShortTasksAreBelowP90) {
  if (!is_long()) GTEST_SKIP() << "not run: it takes ten seconds; ./test --long";
  expect_calibrated(Workload::kGangs);
}

}  // namespace
}  // namespace proffer::sim::eta_test
