#include "net/strangers.h"

#include <gtest/gtest.h>

#include "common/text.h"

namespace proffer::strangers_test {
namespace {

constexpr Time kBegin = Time::from_nanos(1'000'000'000'000);

TEST(Strangers, AnAddressMayComeUntilTooManyWereRefused) {
  Strangers strangers;
  for (int64_t i = 0; i < kStrangersBurst; ++i) {
    EXPECT_TRUE(strangers.may_come("192.0.2.7", kBegin)) << i;
    strangers.refused("192.0.2.7", kBegin);
  }
  EXPECT_FALSE(strangers.may_come("192.0.2.7", kBegin));
  EXPECT_TRUE(strangers.may_come("192.0.2.8", kBegin));
}

TEST(Strangers, SoManyMayComeEachSecondAfterThat) {
  Strangers strangers;
  int64_t refused = 0;
  for (Time now = kBegin; now < kBegin + seconds(100); now = now + milliseconds(10)) {
    if (!strangers.may_come("192.0.2.7", now)) continue;
    strangers.refused("192.0.2.7", now);
    ++refused;
  }
  EXPECT_GE(refused, 100 * kStrangersPerSecond);
  EXPECT_LE(refused, 100 * kStrangersPerSecond + kStrangersBurst);
}

// Handshakes that had begun before are refused, too; they are not held against it beyond the burst.
TEST(Strangers, OneThatHasStoppedIsForgivenSoon) {
  Strangers strangers;
  for (int i = 0; i < 10'000; ++i) strangers.refused("192.0.2.7", kBegin);
  EXPECT_TRUE(strangers.may_come("192.0.2.7", kBegin + seconds(1)));
  EXPECT_TRUE(strangers.may_come("192.0.2.7", kBegin + seconds(kStrangersBurst)));
}

TEST(Strangers, TheOldestAddressesAreForgottenFirst) {
  Strangers strangers;
  for (int64_t i = 0; i < kStrangersBurst; ++i) strangers.refused("first", kBegin);
  for (size_t i = 0; i < kStrangerAddressesMax; ++i) {
    strangers.refused(text("address ", i), kBegin + milliseconds(1));
  }
  EXPECT_EQ(strangers.addresses(), kStrangerAddressesMax);
  EXPECT_TRUE(strangers.may_come("first", kBegin + milliseconds(1)));
}

}  // namespace
}  // namespace proffer::strangers_test
