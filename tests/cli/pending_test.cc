// Start forecasts of waiting asks, as text.

#include "cli/pending.h"

#include <gtest/gtest.h>

namespace proffer::cli::pending_test {
namespace {

proto::PendingRow waiting(const proto::Eta& eta, int64_t wanted = 1) {
  return {.ask = AskName("map"), .wanted = wanted, .eta = eta};
}

TEST(StartText, SaysTheHalfAndTheNinetieth) {
  EXPECT_EQ(start_text(waiting({.p50 = seconds(40), .p90 = minutes(3)})),
            "in 40s, in nine of ten cases within 3m");
  EXPECT_EQ(start_text(waiting({.p50 = milliseconds(300), .p90 = milliseconds(900)})),
            "now, in nine of ten cases within 1s");
  EXPECT_EQ(start_text(waiting({.p50 = seconds(40)})), "in 40s, or beyond the forecast's horizon");
}

TEST(StartText, SaysWhenAllTasksHaveStarted) {
  proto::Eta eta{.p50 = seconds(1), .p90 = seconds(9), .all_p50 = minutes(50), .all_p90 = hours(3)};
  EXPECT_EQ(start_text(waiting(eta, 8)),
            "in 1s, in nine of ten cases within 9s; all 8 in 50m, within 3h");
  eta.all_p90.reset();
  EXPECT_EQ(start_text(waiting(eta, 8)),
            "in 1s, in nine of ten cases within 9s; all 8 in 50m, or later");
  eta.all_p50.reset();
  EXPECT_EQ(start_text(waiting(eta, 8)),
            "in 1s, in nine of ten cases within 9s; all 8 beyond the forecast's horizon");
}

TEST(StartText, SaysWhyNothingIsKnown) {
  proto::PendingRow row{.ask = AskName("map"), .no_eta = proto::NoEta::kNoDurations};
  row.unknown = "web";
  EXPECT_EQ(
      start_text(row),
      "no estimate: it may wait for tasks of framework 'web' of unknown duration: no task of their "
      "kind has ended yet");
  row = {.ask = AskName("map"), .no_eta = proto::NoEta::kAway};
  EXPECT_EQ(start_text(row), "no estimate: its scheduler is not connected");
}

}  // namespace
}  // namespace proffer::cli::pending_test
