// The order in which users are served, and the bounds of their queues.

#include "master/shell/inbox.h"

#include <gtest/gtest.h>

#include "common/text.h"

namespace proffer::master::inbox_test {
namespace {

Inbox::Item frame_of(const std::string& user, uint64_t peer, size_t bytes = 8) {
  return {.user = user,
          .peer = PeerId(peer),
          .frame = ReceivedFrame::copy_of(std::vector<std::byte>(bytes))};
}

// The users in the order in which they are served, each for as long as `cost` says.
template <class Cost>
std::string served(Inbox& inbox, size_t count, Cost cost) {
  std::string users;
  for (size_t i = 0; i < count; ++i) {
    const std::optional<Inbox::Item> item = inbox.take();
    if (!item) break;
    users += item->user;
    inbox.took(cost(item->user));
  }
  return users;
}

Duration millis_each(const std::string&) { return milliseconds(1); }

TEST(Inbox, AUserWhoSendsLittleDoesNotWaitBehindAFlood) {
  Inbox inbox;
  for (uint64_t peer = 1; peer <= 1'000; ++peer) inbox.add(frame_of("a", peer));
  EXPECT_EQ(served(inbox, 3, millis_each), "aaa");
  inbox.add(frame_of("b", 2'000));
  inbox.add(frame_of("c", 2'001));
  EXPECT_EQ(served(inbox, 4, millis_each), "bcaa");
  EXPECT_EQ(inbox.frames(), 995u);
}

// The loop's time counts, not the number of frames.
TEST(Inbox, TwoFloodsShareTheTimeWhateverTheirFramesCost) {
  Inbox inbox;
  for (int i = 0; i < 1'000; ++i) {
    inbox.add(frame_of("a", 1));
    inbox.add(frame_of("b", 2));
  }
  const std::string users = served(inbox, 220, [](const std::string& user) {
    return user == "a" ? milliseconds(10) : milliseconds(1);
  });
  EXPECT_EQ(std::count(users.begin(), users.end(), 'a'), 20);
}

// A user that waits now and then has saved nothing up for later.
TEST(Inbox, TimeThatAUserDidNotUseIsNotSavedUp) {
  Inbox inbox;
  for (int i = 0; i < 100; ++i) inbox.add(frame_of("a", 1));
  served(inbox, 50, millis_each);
  for (int i = 0; i < 100; ++i) inbox.add(frame_of("b", 2));
  const std::string users = served(inbox, 20, millis_each);
  EXPECT_EQ(std::count(users.begin(), users.end(), 'a'), 10);
}

TEST(Inbox, FramesOfAConnectionKeepTheirOrder) {
  Inbox inbox;
  for (size_t bytes = 1; bytes <= 5; ++bytes) inbox.add(frame_of("a", 7, bytes));
  inbox.add({.user = "a", .peer = PeerId(7)});
  EXPECT_EQ(inbox.waiting(PeerId(7)), 6u);
  for (const size_t bytes : {1u, 2u, 3u, 4u, 5u, 0u}) {
    const std::optional<Inbox::Item> item = inbox.take();
    ASSERT_TRUE(item.has_value());
    EXPECT_EQ(item->frame.size(), bytes);
    inbox.took({});
  }
  EXPECT_FALSE(inbox.take().has_value());
  EXPECT_EQ(inbox.waiting(PeerId(7)), 0u);
  EXPECT_EQ(inbox.bytes(), 0u);
}

TEST(Inbox, OneUserMayLetSoMuchWaitAndNoMore) {
  Inbox inbox;
  for (size_t i = 0; i < kWaitingPerUserMax; ++i) {
    ASSERT_TRUE(inbox.has_room("a", 8));
    inbox.add(frame_of("a", i));
  }
  EXPECT_FALSE(inbox.has_room("a", 8));
  EXPECT_TRUE(inbox.has_room("b", 8));
  for (size_t i = 0; i < kWaitingBytesPerUserMax / kFrameBytesMax; ++i) {
    ASSERT_TRUE(inbox.has_room("b", kFrameBytesMax));
    inbox.add(frame_of("b", 1, kFrameBytesMax));
  }
  EXPECT_FALSE(inbox.has_room("b", 1));
  ASSERT_TRUE(inbox.take().has_value());
  inbox.took({});
  EXPECT_TRUE(inbox.has_room("a", 8));
}

}  // namespace
}  // namespace proffer::master::inbox_test
