// Cron expressions: parsing, and fire times. A reference implementation checks each minute with the
// C library's calendar.

#include "frameworks/batch/core/cron.h"

#include <ctime>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/prng.h"
#include "common/text.h"

namespace proffer::batch::cron_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

int64_t utc(int year, int month, int day, int hour = 0, int minute = 0) {
  std::tm tm = {};
  tm.tm_year = year - 1900;
  tm.tm_mon = month - 1;
  tm.tm_mday = day;
  tm.tm_hour = hour;
  tm.tm_min = minute;
  return ::timegm(&tm);
}

constexpr int32_t kHour = 3'600;

Zone utc_zone() {
  return {.begin = utc(1990, 1, 1), .end = utc(2200, 1, 1), .offsets = {{utc(1990, 1, 1), 0}}};
}

// Berlin in 2026 and 2027: summer time begins on the last Sunday of March at 01:00 UTC and ends on
// the last Sunday of October at 01:00 UTC.
Zone berlin() {
  return {.begin = utc(2026, 1, 1),
          .end = utc(2028, 1, 1),
          .offsets = {{utc(2026, 1, 1), 1 * kHour},
                      {utc(2026, 3, 29, 1), 2 * kHour},
                      {utc(2026, 10, 25, 1), 1 * kHour},
                      {utc(2027, 3, 28, 1), 2 * kHour},
                      {utc(2027, 10, 31, 1), 1 * kHour}}};
}

// Samoa crossed the date line: it skipped 30 December 2011.
Zone samoa() {
  return {.begin = utc(2011, 12, 1),
          .end = utc(2012, 2, 1),
          .offsets = {{utc(2011, 12, 1), -10 * kHour}, {utc(2011, 12, 30, 10), 14 * kHour}}};
}

Cron cron(std::string_view text) {
  Result<Cron> read = parse_cron(text);
  CHECK(read) << text << ": " << read.error().message();
  return *read;
}

std::vector<std::string> local_fires(std::string_view text, const Zone& zone, int64_t after,
                                     size_t count) {
  std::vector<std::string> out;
  const Cron expression = cron(text);
  while (out.size() < count) {
    const std::optional<int64_t> next = next_fire_time(expression, zone, after);
    if (!next) break;
    out.push_back(local_text(zone, *next));
    after = *next;
  }
  return out;
}

TEST(Cron, FiresAtTheTimesOfItsFields) {
  const int64_t start = utc(2026, 11, 25, 12, 30);  // a Wednesday
  const Zone zone = utc_zone();
  EXPECT_THAT(local_fires("*/15 * * * *", zone, start, 3),
              ElementsAre("2026-11-25T12:45", "2026-11-25T13:00", "2026-11-25T13:15"));
  EXPECT_THAT(local_fires("30 12 * * *", zone, start, 2),
              ElementsAre("2026-11-26T12:30", "2026-11-27T12:30"));
  EXPECT_THAT(
      local_fires("0 3 * * mon-FRI", zone, start, 4),
      ElementsAre("2026-11-26T03:00", "2026-11-27T03:00", "2026-11-30T03:00", "2026-12-01T03:00"));
  EXPECT_THAT(local_fires("0 0 29 feb *", zone, start, 2),
              ElementsAre("2028-02-29T00:00", "2032-02-29T00:00"));
  EXPECT_THAT(local_fires("5,10-20/5 8 31 * *", zone, start, 5),
              ElementsAre("2026-12-31T08:05", "2026-12-31T08:10", "2026-12-31T08:15",
                          "2026-12-31T08:20", "2027-01-31T08:05"));
  EXPECT_THAT(local_fires("@weekly", zone, start, 2),
              ElementsAre("2026-11-29T00:00", "2026-12-06T00:00"));
  EXPECT_THAT(local_fires("0 0 * * 7", zone, start, 1), ElementsAre("2026-11-29T00:00"));
}

TEST(Cron, DayOfMonthAndDayOfWeekAreEitherOr) {
  // As in every cron: on the 13th, and on each Friday.
  EXPECT_THAT(
      local_fires("0 0 13 * fri", utc_zone(), utc(2026, 11, 25), 4),
      ElementsAre("2026-11-27T00:00", "2026-12-04T00:00", "2026-12-11T00:00", "2026-12-13T00:00"));
  // If * has a step, both fields must match: odd days that are a Friday.
  EXPECT_THAT(local_fires("0 0 */2 * fri", utc_zone(), utc(2026, 11, 25), 2),
              ElementsAre("2026-11-27T00:00", "2026-12-11T00:00"));
}

TEST(Cron, FiresOnceWhenClocksGoForward) {
  EXPECT_THAT(local_fires("30 2 * * *", berlin(), utc(2026, 3, 27, 12), 3),
              ElementsAre("2026-03-28T02:30", "2026-03-29T03:00", "2026-03-30T02:30"));
  EXPECT_THAT(
      local_fires("0,20,40 2,3 * * *", berlin(), utc(2026, 3, 28, 12), 4),
      ElementsAre("2026-03-29T03:00", "2026-03-29T03:20", "2026-03-29T03:40", "2026-03-30T02:00"));
  EXPECT_THAT(local_fires("0 12 30 12 *", samoa(), utc(2011, 12, 10), 1),
              ElementsAre("2011-12-31T00:00"));
}

TEST(Cron, FiresOnceWhenClocksGoBackUnlessTheHourIsFree) {
  EXPECT_THAT(local_fires("30 2 * * *", berlin(), utc(2026, 10, 24, 12), 2),
              ElementsAre("2026-10-25T02:30", "2026-10-26T02:30"));
  EXPECT_THAT(
      local_fires("30 * * * *", berlin(), utc(2026, 10, 24, 23), 4),
      ElementsAre("2026-10-25T01:30", "2026-10-25T02:30", "2026-10-25T02:30", "2026-10-25T03:30"));
}

TEST(Cron, HasNoFireTimeBeyondWhatIsKnownOfTheZone) {
  EXPECT_THAT(local_fires("0 6 1 1 *", berlin(), utc(2026, 6, 1), 5),
              ElementsAre("2027-01-01T06:00"));
  EXPECT_THAT(local_fires("* * * * *", Zone(), 0, 1), IsEmpty());
}

TEST(Cron, SaysWhatIsWrong) {
  struct Row {
    std::string_view text;
    std::string_view why;
  };
  const Row rows[] = {
      {"", "0 fields"},
      {"* * * *", "4 fields"},
      {"* * * * * *", "6 fields"},
      {"60 * * * *", "minute '60'"},
      {"-1 * * * *", "minute '-1'"},
      {"* 24 * * *", "hour '24'"},
      {"* * 0 * *", "day of month '0'"},
      {"* * 32 * *", "day of month '32'"},
      {"* * * 13 *", "month '13'"},
      {"* * * janu *", "month 'janu'"},
      {"* * * * 8", "day of week '8'"},
      {"5-1 * * * *", "minute '5-1'"},
      {"*/0 * * * *", "minute '*/0'"},
      {"1/2/3 * * * *", "minute '1/2/3'"},
      {"1-2-3 * * * *", "minute '1-2-3'"},
      {"1, * * * *", "minute '1,'"},
      {"* * 30 2 *", "never matches"},
      {"0 0 31 4,6,9,11 *", "never matches"},
      {"@often", "'@often' is unknown"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.text);
    const Result<Cron> read = parse_cron(row.text);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(read.error().message(), HasSubstr(row.why));
    EXPECT_FALSE(read.error().hint().empty());
  }
}

// The rules of next_fire_time, checked minute by minute.
std::vector<int64_t> reference(const Cron& cron, const Zone& zone) {
  const auto matches = [&cron](int64_t local) {
    std::tm tm = {};
    const time_t seconds = local;
    ::gmtime_r(&seconds, &tm);
    const bool day = (cron.days >> tm.tm_mday & 1) != 0;
    const bool weekday = (cron.weekdays >> tm.tm_wday & 1) != 0;
    return (cron.minutes >> tm.tm_min & 1) != 0 && (cron.hours >> tm.tm_hour & 1) != 0 &&
           (cron.months >> (tm.tm_mon + 1) & 1) != 0 &&
           (cron.any_day || cron.any_weekday ? day && weekday : day || weekday);
  };
  std::vector<int64_t> fires;
  size_t span = 0;
  int64_t reached = zone.begin + zone.offsets[0].offset;  // the latest local time so far
  for (int64_t now = zone.begin; now < zone.end; now += 60) {
    while (span + 1 < zone.offsets.size() && zone.offsets[span + 1].from <= now) ++span;
    const int64_t local = now + zone.offsets[span].offset;
    bool fire = matches(local) && (local >= reached || cron.any_hour);
    for (int64_t skipped = reached; skipped < local; skipped += 60) fire |= matches(skipped);
    reached = std::max(reached, local + 60);
    if (fire) fires.push_back(now);
  }
  return fires;
}

TEST(Cron, FiresAsTheReferenceDoes) {
  Prng prng(7);
  for (int round = 0; round < 60; ++round) {
    const auto field = [&prng](int64_t min, int64_t max) {
      switch (prng.below(4)) {
        case 0:
          return std::string("*");
        case 1:
          return text("*/", 1 + prng.below(7));
        case 2: {
          const int64_t first = prng.between(min, max);
          return text(first, "-", prng.between(first, max));
        }
        default:
          return text(prng.between(min, max), ",", prng.between(min, max));
      }
    };
    const std::string expression = text(field(0, 59), " ", field(0, 4), " ", field(1, 31), " ",
                                        field(1, 12), " ", field(0, 6));
    SCOPED_TRACE(expression);
    const Result<Cron> read = parse_cron(expression);
    if (!read) continue;  // for example, the 31st of a shorter month
    const Zone zone = round % 3 == 0 ? samoa() : berlin();
    std::vector<int64_t> fires;
    for (int64_t after = zone.begin - 1;;) {
      const std::optional<int64_t> next = next_fire_time(*read, zone, after);
      if (!next) break;
      fires.push_back(*next);
      after = *next;
    }
    ASSERT_EQ(fires, reference(*read, zone));
  }
}

}  // namespace
}  // namespace proffer::batch::cron_test
