#include "common/time.h"

#include <gtest/gtest.h>

#include "common/limits.h"
#include "common/prng.h"

namespace proffer::time_test {
namespace {

TEST(Durations, AreReadFromText) {
  struct Row {
    std::string_view text;
    std::optional<Duration> value;
  };
  const Row rows[] = {
      {"0", Duration()},
      {"0s", Duration()},
      {"500ms", milliseconds(500)},
      {" 30s ", seconds(30)},
      {"1.5s", milliseconds(1500)},
      {"0.001s", milliseconds(1)},
      {"1.5ms", microseconds(1500)},
      {"1.5us", nanoseconds(1500)},
      {"7ns", nanoseconds(7)},
      {"1.0ns", nanoseconds(1)},
      {"10m", minutes(10)},
      {"2h", hours(2)},
      {"1d", hours(24)},
      {"1w", hours(24 * 7)},
      {"3650d", kDurationMax},
      {"3650.001d", {}},
      {"3651d", {}},
      {"521.429w", {}},
      {"1.5ns", {}},
      {"1", {}},
      {"s", {}},
      {"", {}},
      {"-1s", {}},
      {"1.2345s", {}},
      {"1s2", {}},
      {"1 s", {}},
      {"1S", {}},
      {"1..5s", {}},
      {"1min", {}},
      {"1h30m", minutes(90)},
      {"1w2d3h4m5s6ms7us8ns", hours(24 * 9 + 3) + minutes(4) + seconds(5) + milliseconds(6) +
                                  microseconds(7) + nanoseconds(8)},
      {"1.5h30m", hours(2)},
      {"01:30:00", minutes(90)},
      {"100:00:01", hours(100) + seconds(1)},
      {"1-12:00:00", hours(36)},
      {"1-12", hours(36)},
      {"0-0:30", minutes(30)},
      {"30m1h", {}},
      {"1h1h", {}},
      {"1h30", {}},
      {"10:00", {}},
      {"90", {}},
      {"1:60:00", {}},
      {"1-24", {}},
      {"1-", {}},
      {"-1", {}},
      {"1:2:3:4", {}},
      {"1:-2:3", {}},
      {"3650-01:00:00", {}},
      {"87601:00:00", {}},
      {"99999999999999999999s", {}},
  };
  for (const Row& row : rows) {
    const Result<Duration> value = parse_duration(row.text);
    EXPECT_EQ(value.has_value(), row.value.has_value()) << row.text;
    if (value && row.value) {
      EXPECT_EQ(value->nanos(), row.value->nanos()) << row.text;
    }
  }
}

TEST(Durations, WithTwoReadingsGiveBoth) {
  EXPECT_EQ(parse_duration("90").error().message(),
            "the duration '90' has two readings, 90s and 90m");
  EXPECT_EQ(parse_duration("10:00").error().hint(), "write 10m00s or 10h00m");
}

TEST(Durations, ArePrintedShortly) {
  struct Row {
    Duration duration;
    std::string_view text;
  };
  const Row rows[] = {
      {Duration(), "0s"},
      {seconds(1), "1s"},
      {seconds(90), "90s"},
      {minutes(1), "1m"},
      {hours(24), "1d"},
      {hours(24 * 7), "1w"},
      {hours(25), "25h"},
      {milliseconds(1500), "1.5s"},
      {milliseconds(999), "999ms"},
      {milliseconds(1), "1ms"},
      {microseconds(1500), "1.5ms"},
      {nanoseconds(1), "1ns"},
      {nanoseconds(1'000'001), "1000.001us"},
      {seconds(-30), "-30s"},
  };
  for (const Row& row : rows) EXPECT_EQ(to_text(row.duration), row.text);
}

TEST(Durations, ReadBackAsPrinted) {
  Prng prng(3);
  for (int i = 0; i < 20'000; ++i) {
    int64_t nanos = prng.between(0, kDurationMax.nanos() >> prng.below(58));
    constexpr int64_t kSteps[] = {1, 1'000, 1'000'000, 1'000'000'000, 60'000'000'000};
    const int64_t step = kSteps[prng.below(5)];
    if (nanos >= step) nanos -= nanos % step;
    const std::string text = to_text(Duration::nanos(nanos));
    const Result<Duration> back = parse_duration(text);
    ASSERT_TRUE(back) << text << " of " << nanos << ": " << back.error().message();
    ASSERT_EQ(back->nanos(), nanos) << text;
  }
}

TEST(Durations, EveryValueCanBePrinted) {
  EXPECT_FALSE(to_text(Duration::nanos(std::numeric_limits<int64_t>::min())).empty());
  EXPECT_FALSE(to_text(Duration::nanos(std::numeric_limits<int64_t>::max())).empty());
}

TEST(Times, AddAndSubtract) {
  const Time start = Time::from_nanos(100);
  EXPECT_EQ(start + seconds(1) - start, seconds(1));
  EXPECT_EQ(start - nanoseconds(40), Time::from_nanos(60));
  EXPECT_LT(start, start + nanoseconds(1));
  EXPECT_EQ(seconds(10) / 4 + milliseconds(500) * 2 - seconds(1), milliseconds(2500));
  EXPECT_EQ(milliseconds(1999).micros(), 1'999'000);
}

}  // namespace
}  // namespace proffer::time_test
