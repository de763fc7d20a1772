#include "proto/channel.h"

#include <gtest/gtest.h>

namespace proffer::proto::channel_test {
namespace {

using Verdict = Channel::Verdict;

TEST(Channel, NumbersFramesFromOneAndDeliversThemInOrder) {
  Channel here;
  Channel there;
  for (uint64_t i = 1; i <= 3; ++i) {
    const Envelope sent = here.stamp(LeaderEpoch(4), Heartbeat{});
    EXPECT_EQ(sent.sequence, i);
    EXPECT_EQ(sent.leader, LeaderEpoch(4));
    EXPECT_EQ(there.admit(sent), Verdict::kDeliver);
  }
}

TEST(Channel, DropsRepeatedFramesAndGoesOn) {
  Channel here;
  Channel there;
  const Envelope first = here.stamp({}, Heartbeat{});
  const Envelope second = here.stamp({}, Heartbeat{});
  EXPECT_EQ(there.admit(first), Verdict::kDeliver);
  EXPECT_EQ(there.admit(first), Verdict::kDuplicate);
  EXPECT_EQ(there.admit(second), Verdict::kDeliver);
  EXPECT_EQ(there.admit(first), Verdict::kDuplicate);
  EXPECT_EQ(there.admit(Envelope{.sequence = 0}), Verdict::kDuplicate);
}

TEST(Channel, IsBrokenByAGapAndStaysSoUntilTheMissingFrameComes) {
  Channel here;
  Channel there;
  const Envelope lost = here.stamp({}, Heartbeat{});
  const Envelope next = here.stamp({}, Heartbeat{});
  EXPECT_EQ(there.admit(next), Verdict::kBroken);
  EXPECT_EQ(there.admit(next), Verdict::kBroken);
  EXPECT_EQ(there.admit(lost), Verdict::kDeliver);
}

}  // namespace
}  // namespace proffer::proto::channel_test
