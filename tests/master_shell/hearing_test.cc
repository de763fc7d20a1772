// When the master may judge the silence of others.

#include "master/shell/hearing.h"

#include <gtest/gtest.h>

namespace proffer::master::hearing_test {
namespace {

constexpr Time kNow = Time() + seconds(1'000);

TEST(Hearing, IsGoodWhileTimersAreInTimeAndFramesAreRead) {
  Hearing hearing;
  EXPECT_FALSE(hearing.is_deaf(kNow, kNow));
  hearing.expect(kNow - kStoodStill);
  EXPECT_FALSE(hearing.is_deaf(kNow, kNow - kStoodStill));
}

TEST(Hearing, IsBadAfterAStandstill) {
  Hearing hearing;
  hearing.expect(kNow - minutes(10));
  EXPECT_TRUE(hearing.is_deaf(kNow, kNow));
  hearing.expect(kNow + seconds(1));
  EXPECT_FALSE(hearing.is_deaf(kNow + seconds(1), kNow + seconds(1)));
}

TEST(Hearing, IsBadForAMinuteOfUnreadFramesAtMost) {
  Hearing hearing;
  const Time read_until = kNow - seconds(2);
  EXPECT_TRUE(hearing.is_deaf(kNow, read_until));
  EXPECT_TRUE(hearing.is_deaf(kNow + kDeafMax - nanoseconds(1), read_until));
  EXPECT_FALSE(hearing.is_deaf(kNow + kDeafMax, read_until));
  EXPECT_FALSE(hearing.is_deaf(kNow + minutes(5), kNow + minutes(5)));
  EXPECT_TRUE(hearing.is_deaf(kNow + minutes(6), kNow + minutes(5)));
}

}  // namespace
}  // namespace proffer::master::hearing_test
