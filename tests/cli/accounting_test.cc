// Role use in a month: sums are exact, and gaps are reported.

#include "cli/accounting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/json/json.h"

namespace proffer::cli::accounting_test {
namespace {

using testing::HasSubstr;

Month november() { return *parse_month("2026-11"); }

proto::RoleUse use(const std::string& role, Time from, int64_t milli_cpu_seconds,
                   int64_t milli_mib_seconds = 0) {
  return {.role = RoleName(role),
          .from = from,
          .until = from + minutes(1),
          .seconds = ResourceVector::of(milli_cpu_seconds, milli_mib_seconds)};
}

TEST(Accounting, AMonthIsACalendarMonthInUtc) {
  EXPECT_EQ(november().from, Time() + seconds(1'793'491'200));
  EXPECT_EQ(november().until - november().from, hours(30 * 24));
  EXPECT_EQ(parse_month("2024-02")->until - parse_month("2024-02")->from, hours(29 * 24));
  EXPECT_EQ(parse_month("2026-12")->until, parse_month("2027-01")->from);
  for (const char* wrong : {"", "2026", "2026-13", "2026-00", "2026-1", "26-11", "2026-11-01",
                            "2026/11", "1969-12", "2201-01", "+202-11", "2026--1"}) {
    const Result<Month> month = parse_month(wrong);
    ASSERT_FALSE(month) << wrong;
    EXPECT_THAT(month.error().message(), HasSubstr("a month must be YYYY-MM")) << wrong;
  }
}

TEST(Accounting, SumsEachRoleExactlyOverPages) {
  Accounting all{.month = november()};
  const Time first = november().from;
  const Time last = november().until - nanoseconds(1);
  add({.roles = {use("eng", first, 1), use("eng", last, 3'600'000, int64_t{1024} * 3'600'000),
                 use("eng/ads", first, 500)}},
      all);
  add({.roles = {use("eng", first - nanoseconds(1), 7), use("eng", november().until, 7),
                 use("eng", first + hours(1), 1)}},
      all);
  EXPECT_EQ(accounting_csv(all),
            "month,role,cpu_hours,mem_gib_hours,disk_gib_hours,gpu_hours,cpu_seconds,"
            "mem_mib_seconds,disk_mib_seconds,gpu_seconds\n"
            "2026-11,eng,1.000,1.000,0.000,0.000,3600.002,3686400.000,0.000,0.000\n"
            "2026-11,eng/ads,0.000,0.000,0.000,0.000,0.500,0.000,0.000,0.000\n");
  EXPECT_THAT(accounting_json(all),
              HasSubstr(R"("total":{"roles":2,"cpu_hours":1.000,"mem_gib_hours":1.000)"));
  EXPECT_THAT(accounting_json(all), HasSubstr(R"("cpu_seconds":3600.502)"));
  // The beginning of the history is known.
  EXPECT_EQ(all.known_from, first - nanoseconds(1));
}

// 100,000 agents with a TiB each, fully used for the whole month.
TEST(Accounting, AMonthOfAnyClusterFits) {
  Accounting all{.month = november()};
  const int64_t minute = int64_t{100'000} * 1024 * 1024 * 1000 * 60;
  for (int i = 0; i < 30 * 24 * 60; ++i) {
    add({.roles = {use("eng", november().from + minutes(i), 0, std::min(minute, kAmountMax))}},
        all);
  }
  const Thousandths expected = Thousandths{std::min(minute, kAmountMax)} * (30 * 24 * 60);
  EXPECT_THAT(accounting_csv(all), HasSubstr("," + decimal(expected) + ","));
  EXPECT_EQ(decimal(expected).find('-'), std::string::npos);
}

TEST(Accounting, TellsGapsThatReachIntoTheMonth) {
  Accounting all{.month = november()};
  const Time first = november().from;
  add({.roles = {use("eng", first + hours(3), 1)}}, all);
  EXPECT_THAT(accounting_json(all), HasSubstr(R"("known_from_s":1793502000)"));
  add({.gaps = {{.from = first - hours(2), .until = first - hours(1)},
                {.from = first - hours(1), .until = first + hours(1)},
                {.from = november().until, .until = november().until + hours(1)}}},
      all);
  ASSERT_EQ(all.gaps.size(), 1u);
  EXPECT_THAT(accounting_json(all),
              HasSubstr(R"("gaps":[{"from_s":1793487600,"until_s":1793494800}],)"));
}

}  // namespace
}  // namespace proffer::cli::accounting_test
