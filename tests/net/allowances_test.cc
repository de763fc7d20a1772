#include "net/allowances.h"

#include <gtest/gtest.h>

#include "common/text.h"

namespace proffer::allowances_test {
namespace {

constexpr Allowances::Rate kStrangers = {.burst = kStrangersBurst,
                                         .per_second = kStrangersPerSecond};
constexpr Time kBegin = Time::from_nanos(1'000'000'000'000);

TEST(Allowances, OneHasSomethingLeftUntilTheBurstIsUsed) {
  Allowances allowances(kStrangers);
  for (int64_t i = 0; i < kStrangersBurst; ++i) {
    EXPECT_TRUE(allowances.has_left("192.0.2.7", kBegin)) << i;
    allowances.use("192.0.2.7", 1, kBegin);
  }
  EXPECT_FALSE(allowances.has_left("192.0.2.7", kBegin));
  EXPECT_TRUE(allowances.has_left("192.0.2.8", kBegin));
}

TEST(Allowances, SoManyComeBackEachSecond) {
  Allowances allowances(kStrangers);
  int64_t used = 0;
  for (Time now = kBegin; now < kBegin + seconds(100); now = now + milliseconds(10)) {
    if (!allowances.has_left("192.0.2.7", now)) continue;
    allowances.use("192.0.2.7", 1, now);
    ++used;
  }
  EXPECT_GE(used, 100 * kStrangersPerSecond);
  EXPECT_LE(used, 100 * kStrangersPerSecond + kStrangersBurst);
}

// Use beyond the burst does not add debt.
TEST(Allowances, OneThatHasStoppedHasAllOfItBackSoon) {
  Allowances allowances(kStrangers);
  for (int i = 0; i < 10'000; ++i) allowances.use("192.0.2.7", 1, kBegin);
  EXPECT_TRUE(allowances.has_left("192.0.2.7", kBegin + seconds(1)));
  EXPECT_TRUE(allowances.has_left("192.0.2.7", kBegin + seconds(kStrangersBurst)));
}

TEST(Allowances, TheOneThatHasMostLeftIsForgottenFirst) {
  Allowances allowances(kStrangers);
  for (int64_t i = 0; i < kStrangersBurst; ++i) allowances.use("worst", 1, kBegin);
  for (size_t i = 0; i < 2 * kAllowancesMax; ++i) {
    allowances.use(text("address ", i), 1, kBegin + milliseconds(1));
  }
  EXPECT_EQ(allowances.names(), kAllowancesMax);
  EXPECT_FALSE(allowances.has_left("worst", kBegin + milliseconds(1)));
}

TEST(Allowances, OneUseThatCountsForManyIsPaidOff) {
  Allowances allowances({.burst = 10, .per_second = 100});
  allowances.use("1000", 500, kBegin);
  allowances.use("1000", 500, kBegin);
  EXPECT_FALSE(allowances.has_left("1000", kBegin + milliseconds(4'990)));
  EXPECT_TRUE(allowances.has_left("1000", kBegin + seconds(5)));
}

// Twenty connections that were shed at the same time all count.
TEST(Allowances, DebtsAddUpToTheMost) {
  Allowances allowances({.burst = 10, .per_second = 100, .debt_max = 300});
  for (int i = 0; i < 4; ++i) allowances.use("1000", 50, kBegin);
  EXPECT_FALSE(allowances.has_left("1000", kBegin + milliseconds(1'900)));
  EXPECT_EQ(allowances.left_at("1000", kBegin), kBegin + milliseconds(1'910));
  for (int i = 0; i < 100; ++i) allowances.use("1000", 50, kBegin);
  EXPECT_EQ(allowances.left_at("1000", kBegin), kBegin + milliseconds(3'010));
}

TEST(Allowances, WhatIsGivenBackPaysDebts) {
  Allowances allowances({.burst = 10, .per_second = 100, .debt_max = 300});
  allowances.use("1000", 110, kBegin);
  EXPECT_EQ(allowances.left_at("1000", kBegin), kBegin + milliseconds(1'010));
  allowances.give_back("1000", 100, kBegin);
  EXPECT_EQ(allowances.left_at("1000", kBegin), kBegin + milliseconds(10));
  allowances.give_back("1000", 100, kBegin);
  EXPECT_EQ(allowances.names(), 0u);
  allowances.give_back("unknown", 100, kBegin);
  EXPECT_EQ(allowances.names(), 0u);
}

// Fractions that return within a microsecond are not lost, however often the allowance is used.
TEST(Allowances, ManyUsesEachMillisecondGetTheirRate) {
  Allowances allowances({.burst = 10, .per_second = 500});
  int64_t used = 0;
  for (Time now = kBegin; now < kBegin + seconds(1); now = now + microseconds(10)) {
    if (!allowances.has_left("1000", now)) continue;
    allowances.use("1000", 1, now);
    ++used;
  }
  EXPECT_GE(used, 500);
  EXPECT_LE(used, 510);
}

}  // namespace
}  // namespace proffer::allowances_test
