// The order in which users are served, and the bounds of their queues.

#include "master/shell/inbox.h"

#include <gtest/gtest.h>

#include "common/text.h"

namespace proffer::master::inbox_test {
namespace {

constexpr Time kNow = Time() + seconds(1'000);

Inbox::Item frame_of(const std::string& user, uint64_t peer, size_t bytes = 8) {
  return {.user = user,
          .pace = Pace::kNone,
          .peer = PeerId(peer),
          .frame = ReceivedFrame::copy_of(std::vector<std::byte>(bytes))};
}

// The users in the order in which they are served; `cost` is the time for a frame.
template <class Cost>
std::string served(Inbox& inbox, size_t count, Cost cost) {
  std::string users;
  for (size_t i = 0; i < count; ++i) {
    const std::optional<Inbox::Item> item = inbox.take(kNow);
    if (!item) break;
    users += item->user;
    inbox.took({.time = cost(item->user)}, kNow);
  }
  return users;
}

Duration millis_each(const std::string&) { return milliseconds(1); }

TEST(Inbox, AUserWhoSendsLittleDoesNotWaitBehindAFlood) {
  Inbox inbox;
  for (uint64_t peer = 1; peer <= 1'000; ++peer) inbox.add(frame_of("a", peer), kNow);
  EXPECT_EQ(served(inbox, 3, millis_each), "aaa");
  inbox.add(frame_of("b", 2'000), kNow);
  inbox.add(frame_of("c", 2'001), kNow);
  EXPECT_EQ(served(inbox, 4, millis_each), "bcaa");
  EXPECT_EQ(inbox.frames(), 995u);
}

// The loop's time counts, not the number of frames.
TEST(Inbox, TwoFloodsShareTheTimeWhateverTheirFramesCost) {
  Inbox inbox;
  for (int i = 0; i < 1'000; ++i) {
    inbox.add(frame_of("a", 1), kNow);
    inbox.add(frame_of("b", 2), kNow);
  }
  const std::string users = served(inbox, 220, [](const std::string& user) {
    return user == "a" ? milliseconds(10) : milliseconds(1);
  });
  EXPECT_EQ(std::count(users.begin(), users.end(), 'a'), 20);
}

// A user that is sometimes idle does not save up time for later.
TEST(Inbox, TimeThatAUserDidNotUseIsNotSavedUp) {
  Inbox inbox;
  for (int i = 0; i < 100; ++i) inbox.add(frame_of("a", 1), kNow);
  served(inbox, 50, millis_each);
  for (int i = 0; i < 100; ++i) inbox.add(frame_of("b", 2), kNow);
  const std::string users = served(inbox, 20, millis_each);
  EXPECT_EQ(std::count(users.begin(), users.end(), 'a'), 10);
}

TEST(Inbox, FramesOfAConnectionKeepTheirOrder) {
  Inbox inbox;
  for (size_t bytes = 1; bytes <= 5; ++bytes) inbox.add(frame_of("a", 7, bytes), kNow);
  inbox.add({.user = "a", .peer = PeerId(7)}, kNow);
  EXPECT_EQ(inbox.waiting(PeerId(7)), 6u);
  for (const size_t bytes : {1u, 2u, 3u, 4u, 5u, 0u}) {
    const std::optional<Inbox::Item> item = inbox.take(kNow);
    ASSERT_TRUE(item.has_value());
    EXPECT_EQ(item->frame.size(), bytes);
    inbox.took({}, kNow);
  }
  EXPECT_FALSE(inbox.take(kNow).has_value());
  EXPECT_EQ(inbox.waiting(PeerId(7)), 0u);
  EXPECT_EQ(inbox.bytes(), 0u);
}

TEST(Inbox, OneUserMayLetSoMuchWaitAndNoMore) {
  Inbox inbox;
  for (size_t i = 0; i < kWaitingPerUserMax; ++i) {
    ASSERT_TRUE(inbox.has_room("a", 8));
    inbox.add(frame_of("a", i), kNow);
  }
  EXPECT_FALSE(inbox.has_room("a", 8));
  EXPECT_TRUE(inbox.has_room("b", 8));
  for (size_t i = 0; i < kWaitingBytesPerUserMax / kFrameBytesMax; ++i) {
    ASSERT_TRUE(inbox.has_room("b", kFrameBytesMax));
    inbox.add(frame_of("b", 1, kFrameBytesMax), kNow);
  }
  EXPECT_FALSE(inbox.has_room("b", 1));
  ASSERT_TRUE(inbox.take(kNow).has_value());
  inbox.took({}, kNow);
  EXPECT_TRUE(inbox.has_room("a", 8));
}

// The connections of one user, in the order in which they are served.
std::string served_connections(Inbox& inbox, size_t count, Duration cost) {
  std::string peers;
  for (size_t i = 0; i < count; ++i) {
    const std::optional<Inbox::Item> item = inbox.take(kNow);
    if (!item) break;
    peers += text(item->peer.value());
    inbox.took({.time = cost}, kNow);
  }
  return peers;
}

TEST(Inbox, AConnectionDoesNotWaitBehindAFloodOfItsUser) {
  Inbox inbox;
  for (int i = 0; i < 1'000; ++i) inbox.add(frame_of("a", 1), kNow);
  EXPECT_EQ(served_connections(inbox, 3, milliseconds(2)), "111");
  inbox.add(frame_of("a", 2), kNow);
  EXPECT_EQ(served_connections(inbox, 3, milliseconds(2)), "211");
}

TEST(Inbox, FloodsOfOneUserShareItsTime) {
  Inbox inbox;
  for (int i = 0; i < 100; ++i) {
    inbox.add(frame_of("a", 1), kNow);
    inbox.add(frame_of("a", 2), kNow);
    inbox.add(frame_of("b", 3), kNow);
  }
  const std::string peers = served_connections(inbox, 80, milliseconds(1));
  EXPECT_EQ(std::count(peers.begin(), peers.end(), '1'), 20);
  EXPECT_EQ(std::count(peers.begin(), peers.end(), '2'), 20);
  EXPECT_EQ(std::count(peers.begin(), peers.end(), '3'), 40);
}

// The session of the flood ends, not that of the connection whose frame comes next.
TEST(Inbox, TheFullestConnectionIsDropped) {
  Inbox inbox;
  for (size_t i = 0; i + 10 < kWaitingPerUserMax; ++i) {
    Inbox::Item item = frame_of("a", 1);
    item.pace = Pace::kConnection;
    inbox.add(std::move(item), kNow);
  }
  for (int i = 0; i < 10; ++i) inbox.add(frame_of("a", 2), kNow);
  EXPECT_FALSE(inbox.has_room("a", 8));
  EXPECT_TRUE(inbox.is_average("a", PeerId(1)));
  EXPECT_FALSE(inbox.is_average("a", PeerId(2)));
  EXPECT_FALSE(inbox.is_average("a", PeerId(3)));
  EXPECT_EQ(inbox.fullest("a"), PeerId(1));
  inbox.drop("a", PeerId(1), kNow);
  EXPECT_EQ(inbox.frames(), 10u);
  EXPECT_EQ(inbox.waiting(PeerId(1)), 0u);
  EXPECT_EQ(inbox.fullest("a"), PeerId());  // an agent is never dropped
  EXPECT_EQ(served_connections(inbox, 20, milliseconds(1)), "2222222222");
  EXPECT_TRUE(inbox.empty());
}

// While one of its frames is handled, and while it is paused.
TEST(Inbox, AConnectionIsDroppedAtAnyTime) {
  Inbox inbox;
  const auto add = [&inbox](uint64_t peer) {
    Inbox::Item item = frame_of("a", peer);
    item.pace = Pace::kConnection;
    inbox.add(std::move(item), kNow);
  };
  for (int i = 0; i < 3; ++i) add(1);
  ASSERT_TRUE(inbox.take(kNow).has_value());
  add(2);
  inbox.drop("a", PeerId(1), kNow);
  inbox.took({.time = milliseconds(1)}, kNow);
  EXPECT_EQ(served_connections(inbox, 5, seconds(1)), "2");
  for (int i = 0; i < 3; ++i) add(2);
  EXPECT_FALSE(inbox.is_ready(kNow));
  inbox.drop("a", PeerId(2), kNow);
  EXPECT_TRUE(inbox.empty());
  EXPECT_FALSE(inbox.next_at().has_value());
  add(3);
  EXPECT_EQ(served_connections(inbox, 5, milliseconds(1)), "3");
}

// Frames of a paced user: each takes a millisecond of loop time, for ten seconds.
class Paced : public testing::Test {
 protected:
  static Inbox::Item frame_of_flood() {
    Inbox::Item item = frame_of("flood", 1);
    item.pace = Pace::kUser;
    return item;
  }
  // The loop's busy time for these frames; it sleeps while none may be served.
  static Duration busy(Inbox& inbox, Duration time, const Inbox::Effort& each) {
    Duration busy;
    for (Time now = kNow; now < kNow + time;) {
      while (inbox.waiting(PeerId(1)) < 2) inbox.add(frame_of_flood(), now);
      if (const std::optional<Inbox::Item> item = inbox.take(now)) {
        now = now + each.time;
        if (item->user == "flood") busy = busy + each.time;
        inbox.took(each, now);
        continue;
      }
      const std::optional<Time> next = inbox.next_at();
      EXPECT_TRUE(next.has_value() && *next > now && !inbox.is_ready(now));
      if (!next || *next <= now) break;
      now = *next;
    }
    return busy;
  }
};

TEST_F(Paced, AUserThatMovesNoTaskOnGetsAPartOfAnIdleLoop) {
  Inbox inbox;
  const Duration most = kLoopTimeAtOnce + seconds(10) * kLoopPercentPerUser / 100;
  const Duration used = busy(inbox, seconds(10), {.time = milliseconds(1)});
  EXPECT_LE(used, most + milliseconds(2));
  EXPECT_GE(used, most - milliseconds(10));
}

TEST_F(Paced, AUserThatLaunchesTasksHasTheLoopForItself) {
  Inbox inbox;
  EXPECT_GE(busy(inbox, seconds(10), {.time = milliseconds(1), .tasks = 20}), seconds(10));
}

// Connections of root and of the master's user are paced one by one.
TEST_F(Paced, OtherConnectionsOfItsUserAreServedWhileOnePauses) {
  Inbox inbox;
  const auto paced = [](uint64_t peer) {
    Inbox::Item item = frame_of("root", peer);
    item.pace = Pace::kConnection;
    return item;
  };
  for (int i = 0; i < 1'000; ++i) inbox.add(paced(1), kNow);
  while (inbox.take(kNow)) inbox.took({.time = milliseconds(1)}, kNow);
  EXPECT_FALSE(inbox.is_ready(kNow));
  EXPECT_FALSE(inbox.may_serve(paced(1), kNow));
  EXPECT_TRUE(inbox.may_serve(paced(2), kNow));
  inbox.add(paced(2), kNow);
  EXPECT_EQ(served_connections(inbox, 3, milliseconds(1)), "2");
  const Time later = *inbox.next_at();
  ASSERT_TRUE(inbox.take(later).has_value());
}

// During a pause, only this user waits.
TEST_F(Paced, OthersAreServedWhileAUserPauses) {
  Inbox inbox;
  for (int i = 0; i < 1'000; ++i) inbox.add(frame_of_flood(), kNow);
  while (inbox.take(kNow)) inbox.took({.time = milliseconds(1)}, kNow);
  EXPECT_FALSE(inbox.empty());
  EXPECT_FALSE(inbox.is_ready(kNow));
  inbox.add(frame_of("b", 2), kNow);
  EXPECT_TRUE(inbox.is_ready(kNow));
  EXPECT_EQ(served(inbox, 2, millis_each), "b");
  const Time later = *inbox.next_at();
  EXPECT_TRUE(inbox.is_ready(later));
  ASSERT_TRUE(inbox.take(later).has_value());
}

// Work that was done without waiting in the queue counts too.
TEST_F(Paced, WhatWasServedAtOnceIsCharged) {
  Inbox inbox;
  const Inbox::Item flood = frame_of_flood();
  EXPECT_TRUE(inbox.may_serve(flood, kNow));
  inbox.served(flood, {.time = kLoopTimeAtOnce}, kNow);
  EXPECT_FALSE(inbox.may_serve(flood, kNow));
  EXPECT_TRUE(inbox.may_serve(frame_of("b", 2), kNow));
  inbox.served(flood, {.time = {}, .tasks = 10}, kNow);
  EXPECT_TRUE(inbox.may_serve(flood, kNow));
}

// If a disk or the machine hangs for a minute, that is not the user's work.
TEST_F(Paced, OneFrameIsAtMostASecondsPause) {
  Inbox inbox;
  const Inbox::Item flood = frame_of_flood();
  inbox.served(flood, {.time = kLoopTimeAtOnce}, kNow);
  inbox.served(flood, {.time = seconds(60)}, kNow);
  EXPECT_TRUE(inbox.may_serve(flood, kNow + kLoopTimeAtOnce * 100 / kLoopPercentPerUser));
}

}  // namespace
}  // namespace proffer::master::inbox_test
