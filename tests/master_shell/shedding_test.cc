// Shedding: the treatment of frames without room in the queue, and the cost for their user.

#include "master/shell/shedding.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/load_limits.h"
#include "proto/codec/codec.h"

namespace proffer::master::shedding_test {
namespace {

constexpr Time kNow = Time() + seconds(1'000);
constexpr PeerId kPeer{7};

std::vector<std::byte> frame_of(proto::Message message) {
  proto::Encoder encoder;
  const auto frame = encoder.encode({.version = proto::kProtocolVersionMin,
                                     .leader = LeaderEpoch(),
                                     .sequence = 0,
                                     .message = std::move(message)});
  return {frame->begin(), frame->end()};
}

// The master's actions on peers, in order.
struct Scenario {
  std::vector<std::string> done = {};
  bool waits_for_disk = false;
  Shedding shedding{
      {.answer =
           [this](PeerId, uint64_t call, const Error& why) {
             EXPECT_EQ(why.code(), ErrorCode::kResourceExhausted);
             done.push_back("answer " + std::to_string(call));
           },
       .end = [this](PeerId, Error) { done.emplace_back("end"); },
       .cut =
           [this](PeerId peer) {
             done.emplace_back("cut");
             shedding.forget(peer);
           },
       .charge = [this](PeerId,
                        int64_t arrivals) { done.push_back("charge " + std::to_string(arrivals)); },
       .waits_for_disk = [this] { return waits_for_disk; }}};

  bool call(uint64_t id, bool is_user_full = true) {
    return shedding.shed(kPeer, "ada", frame_of(proto::Call{.id = id, .method = "status"}),
                         is_user_full, kNow);
  }
  bool heartbeat(bool is_user_full = true) {
    return shedding.shed(kPeer, "ada", frame_of(proto::Heartbeat{}), is_user_full, kNow);
  }
  std::vector<std::string> take() { return std::exchange(done, {}); }
};

using Done = std::vector<std::string>;
const std::string kShedOnce = "charge " + std::to_string(kShedArrivals);
const std::string kMisused = "charge " + std::to_string(kMisusedArrivals);

TEST(Shedding, ACallIsAnsweredAndItsConnectionGoesOn) {
  Scenario s;
  EXPECT_TRUE(s.call(1));
  EXPECT_TRUE(s.call(2, false));
  EXPECT_EQ(s.take(), (Done{"answer 1", "answer 2"}));
  EXPECT_EQ(s.shedding.counters(), (ShedCounters{.calls = 2, .sessions = 0}));
}

TEST(Shedding, AFrameThatIsNoCallIsKeptWhileItsUserHasRoom) {
  Scenario s;
  EXPECT_FALSE(s.heartbeat(false));
  EXPECT_EQ(s.take(), Done());
}

// The registry may learn of the end late, and thousands of frames may arrive meanwhile.
TEST(Shedding, ASessionEndsOnceAndIsChargedOnceHoweverMuchOfItIsShed) {
  Scenario s;
  for (int i = 0; i < 5'000; ++i) EXPECT_TRUE(s.heartbeat());
  EXPECT_EQ(s.take(), (Done{kShedOnce, "end"}));
  EXPECT_EQ(s.shedding.counters(), (ShedCounters{.calls = 0, .sessions = 1}));
  // A new session of the same peer counts again.
  s.shedding.forget(kPeer);
  EXPECT_TRUE(s.heartbeat());
  EXPECT_EQ(s.take(), (Done{kShedOnce, "end"}));
}

TEST(Shedding, WhileTheDiskStandsStillASessionEndsWithoutAWord) {
  Scenario s;
  s.waits_for_disk = true;
  EXPECT_TRUE(s.heartbeat());
  EXPECT_EQ(s.take(), (Done{kShedOnce, "cut"}));
}

TEST(Shedding, ASessionWhoseEndWaitsForTheDiskIsCutAndNotChargedAgain) {
  Scenario s;
  EXPECT_TRUE(s.heartbeat());
  s.waits_for_disk = true;
  EXPECT_TRUE(s.heartbeat());
  EXPECT_EQ(s.take(), (Done{kShedOnce, "end", "cut"}));
  EXPECT_EQ(s.shedding.counters().sessions, 1u);
}

TEST(Shedding, AConnectionThatGoesOnAskingAfterItsUsersRefusalsIsCut) {
  Scenario s;
  for (int64_t i = 0; i < kRefusedCallsBurst; ++i) EXPECT_TRUE(s.call(1));
  EXPECT_EQ(std::count(s.done.begin(), s.done.end(), "answer 1"), kRefusedCallsBurst);
  s.take();
  EXPECT_TRUE(s.call(2));
  EXPECT_EQ(s.take(), (Done{kMisused, "cut"}));
}

// Arbitrary bytes, which are never read.
TEST(Shedding, ALargeCallEndsItsSession) {
  Scenario s;
  const auto frame = frame_of(
      proto::Call{.id = 1, .method = "status", .json = std::string(size_t{32} << 10, ' ')});
  EXPECT_TRUE(s.shedding.shed(kPeer, "ada", frame, true, kNow));
  EXPECT_EQ(s.take(), (Done{kShedOnce, "end"}));
}

}  // namespace
}  // namespace proffer::master::shedding_test
