// Between the sockets and the master: the loop does not spin, and serves all that waits.

#include "master/shell/intake.h"

#include <functional>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "common/load_limits.h"
#include "tests/net/support.h"

namespace proffer::master::intake_test {
namespace {

ReceivedFrame a_frame() { return ReceivedFrame::copy_of(std::vector<std::byte>(8)); }

// A master with one rate-limited user, and a disk that may hang.
class Intakes : public testing::Test {
 protected:
  // Counts iterations of the loop until the timer is due. Nothing else wakes a sleeping loop.
  int turns_for(Duration span) {
    int turns = 0;
    const TurnHook count(loop_, [&turns] { ++turns; });
    Timer end(loop_, [this] { loop_.stop(); });
    end.arm(loop_.now() + span);
    loop_.run();
    return turns;
  }

  Loop loop_;
  bool is_disk_well_ = true;
  Duration costs_ = {};  // loop time that a frame takes
  int served_ = 0;
  std::function<Pace(PeerId)> pace_of_ = [](PeerId) { return Pace::kUser; };
  std::vector<PeerId> floods_ = {};
  std::vector<PeerId> sheds_ = {};
  Intake intake_{
      loop_,
      {.on_frame =
           [this](PeerId, std::span<const std::byte>) {
             ++served_;
             const Time until = loop_.now() + costs_;
             while (loop_.now() < until) {
             }
             return size_t{0};
           },
       .on_lost = [](PeerId, PeerLoss) {},
       .on_shed =
           [this](PeerId peer, std::span<const std::byte>, bool is_user_full) {
             if (is_user_full) sheds_.push_back(peer);
             return is_user_full;
           },
       .principal_of =
           [](PeerId) { return std::make_shared<const Principal>(Principal{.user = "ada"}); },
       .on_flood = [this](PeerId peer, const std::string&) { floods_.push_back(peer); },
       .pace_of = [this](PeerId peer, const Principal*) { return pace_of_(peer); },
       .name_of = [](PeerId) { return LoopTimes::Name(); },
       .may_serve = [this] { return is_disk_well_; }}};
};

// A loop that polls would use a whole core while the disk hangs: tens of thousands of iterations in
// this time.
TEST_F(Intakes, TheLoopSleepsWhileTheDiskStandsStill) {
  is_disk_well_ = false;
  for (int i = 0; i < 100; ++i) intake_.receive(PeerId(7), a_frame());
  EXPECT_LT(turns_for(milliseconds(200)), 20);
  EXPECT_EQ(served_, 0);
}

// A user that has used up its share of the loop is paused, and then waits for the disk like all
// others. The timer of the pause, which is over, must not wake the loop again and again.
TEST_F(Intakes, TheLoopSleepsWhenAPauseEndsWhileTheDiskStandsStill) {
  costs_ = kLoopTimeAtOnce / 5;
  for (int i = 0; i < 20; ++i) intake_.receive(PeerId(7), a_frame());
  const Inbox& inbox = intake_.inbox();
  ASSERT_TRUE(net_test::run_until(loop_, [&] { return inbox.next_at().has_value(); }));
  const int served = served_;
  is_disk_well_ = false;
  EXPECT_LT(turns_for(*inbox.next_at() + milliseconds(200) - loop_.now()), 20);
  EXPECT_TRUE(inbox.is_ready(loop_.now()));
  EXPECT_EQ(served_, served);
}

// The end of the write wakes the loop.
TEST_F(Intakes, WhatWaitedIsServedOnceTheDiskIsBack) {
  is_disk_well_ = false;
  for (int i = 0; i < 100; ++i) intake_.receive(PeerId(7), a_frame());
  turns_for(milliseconds(10));
  loop_.post([this] { is_disk_well_ = true; });
  EXPECT_TRUE(net_test::run_until(loop_, [this] { return served_ == 100; }));
}

TEST_F(Intakes, AFrameIsServedAtOnceIfNothingWaits) {
  intake_.receive(PeerId(7), a_frame());
  EXPECT_EQ(served_, 1);
}

// A scheduler that floods its user's queue goes; another scheduler of this user, and an agent,
// stay.
TEST_F(Intakes, AFloodIsShedAndNotItsNeighbours) {
  constexpr PeerId kFlood(1);
  constexpr PeerId kVictim(2);
  constexpr PeerId kAgent(3);
  pace_of_ = [kAgent](PeerId peer) { return peer == kAgent ? Pace::kNone : Pace::kConnection; };
  costs_ = kLoopTimeAtOnce;  // the first frame uses up what the flood has at once
  intake_.receive(kFlood, a_frame());
  costs_ = {};
  for (size_t i = 0; i < kWaitingPerUserMax; ++i) intake_.receive(kFlood, a_frame());
  intake_.receive(kFlood, a_frame());
  EXPECT_EQ(sheds_, (std::vector<PeerId>{kFlood}));
  EXPECT_TRUE(intake_.may_read());
  intake_.receive(kVictim, a_frame());
  intake_.receive(kAgent, a_frame());
  EXPECT_EQ(floods_, (std::vector<PeerId>{kFlood}));
  EXPECT_EQ(sheds_.size(), 1u);
  EXPECT_EQ(intake_.inbox().waiting(kFlood), 0u);
  EXPECT_TRUE(net_test::run_until(loop_, [this] { return served_ == 3; }));
}

// Nothing is served while the disk hangs: then frames of root wait in their sockets.
TEST_F(Intakes, ReadingStopsWhileTheDiskStandsStill) {
  pace_of_ = [](PeerId) { return Pace::kConnection; };
  is_disk_well_ = false;
  for (size_t i = 0; i <= kWaitingPerUserMax; ++i) intake_.receive(PeerId(1), a_frame());
  EXPECT_FALSE(intake_.may_read());
  EXPECT_TRUE(sheds_.empty());
  EXPECT_TRUE(floods_.empty());
}

TEST_F(Intakes, TheFullestConnectionOfAFullUserIsShed) {
  pace_of_ = [](PeerId) { return Pace::kUser; };
  is_disk_well_ = false;
  for (size_t i = 0; i < kWaitingPerUserMax; ++i) intake_.receive(PeerId(1), a_frame());
  intake_.receive(PeerId(2), a_frame());
  EXPECT_EQ(floods_, (std::vector<PeerId>{PeerId(1)}));
  EXPECT_TRUE(sheds_.empty());
  EXPECT_EQ(intake_.inbox().frames(), 1u);
}

}  // namespace
}  // namespace proffer::master::intake_test
