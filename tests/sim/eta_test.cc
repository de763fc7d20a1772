// The share of starts below the forecast percentiles is as promised: for three kinds of work,
// forecasts from live snapshots with durations known at that time, all starts from the first one
// on, and masters that are queried often or seldom. $PROFFER_LONG tries many more times.

#include <gtest/gtest.h>

#include "sim/forecast.h"
#include "tests/support/eta/eta_trial.h"
#include "tests/support/long.h"
#include "tests/support/seeds.h"

namespace proffer::sim::eta_test {
namespace {

using eta_trial::Trial;
using eta_trial::TrialOptions;
using eta_trial::Workload;

void expect_calibrated(Workload workload) {
  TrialOptions options{.seed = 1, .asked_every = seconds(90), .each = {1, 3}, .runs = 5};
  if (test::is_long()) {
    options = {.seed = 2, .lasts = hours(12), .asked_every = seconds(60), .each = {1, 5}};
  }
  const Trial trial = eta_trial::run_trial(workload, options);
  for (const eta_trial::Told& told : trial.told) {
    const proto::EtaFigures& of = told.starts;
    SCOPED_TRACE(::testing::Message()
                 << eta_trial::to_text(workload) << ", each " << told.asked_every << ": "
                 << of.starts << " starts, " << of.below_p50 << " below p50, " << of.below_p90
                 << " below p90; p90 is " << told.spread << " behind p50 and " << told.p90_of_wait
                 << " thousandths of what it took");
    ASSERT_GE(of.starts, 50);
    EXPECT_GE(of.below_p90 * 100, of.starts * 85);
    EXPECT_LE(of.below_p90 * 100, of.starts * 95);
    EXPECT_LE(told.p90_of_wait, 10'000);
  }
}

// Not under sanitizers: forecast_test.cc runs the same code there, and this test is about figures.
TEST(Eta, NineOfTenStartsOfWavesWithHeavyTailsAreBelowP90) {
  if (!kIsSanitized) expect_calibrated(Workload::kWaves);
}
TEST(Eta, NineOfTenStartsOfUnequalRolesUnderChurnAreBelowP90) {
  if (!test::is_long()) GTEST_SKIP() << "not run: it takes ten seconds; ./test --long";
  expect_calibrated(Workload::kWeights);
}
TEST(Eta, NineOfTenStartsOfGangsBesideShortTasksAreBelowP90) {
  if (!test::is_long()) GTEST_SKIP() << "not run: it takes ten seconds; ./test --long";
  expect_calibrated(Workload::kGangs);
}

}  // namespace
}  // namespace proffer::sim::eta_test
