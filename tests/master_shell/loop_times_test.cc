// Who takes much of the master's time.

#include "master/shell/loop_times.h"

#include <gtest/gtest.h>

#include "common/text.h"

namespace proffer::master::loop_times_test {
namespace {

constexpr Time kBegin = Time() + seconds(1'000);

LoopTimes::Name name_of(PeerId peer) {
  if (peer == PeerId(9)) return {};  // an agent
  return {.object = peer.value() < 3 ? "flood" : text("f-", peer.value()), .user = "ada"};
}

// One frame each 10 ms for a window.
void one_window(LoopTimes& times, PeerId peer, const Inbox::Effort& each) {
  for (int i = 0; i < 1'000; ++i) times.note(peer, each, kBegin + milliseconds(10) * i);
}

TEST(LoopTimes, NamesWhoTakesMuchOfIt) {
  LoopTimes times(name_of);
  times.most(kBegin);
  one_window(times, PeerId(1), {.time = milliseconds(2)});
  one_window(times, PeerId(2), {.time = milliseconds(1)});
  one_window(times, PeerId(3), {.time = microseconds(900)});
  one_window(times, PeerId(4), {.time = milliseconds(2)});
  one_window(times, PeerId(9), {.time = milliseconds(5)});
  EXPECT_TRUE(times.most(kBegin + kLoopWindow - nanoseconds(1)).empty());
  const std::vector<LoopUse> expected = {
      {.object = "flood", .percent = 30, .frames_per_second = 200},
      {.object = "f-4", .percent = 20, .frames_per_second = 100}};
  EXPECT_EQ(times.most(kBegin + kLoopWindow), expected);
  EXPECT_EQ(times.most(kBegin + kLoopWindow + seconds(1)), expected);
  EXPECT_TRUE(times.most(kBegin + kLoopWindow * 2).empty());
}

TEST(LoopTimes, NamesTheUserOfManySmallFloods) {
  LoopTimes times(name_of);
  times.most(kBegin);
  for (uint64_t peer = 20; peer < 40; ++peer) {
    one_window(times, PeerId(peer), {.time = microseconds(400)});
  }
  EXPECT_EQ(
      times.most(kBegin + kLoopWindow),
      (std::vector<LoopUse>{{.object = "user ada", .percent = 80, .frames_per_second = 2'000}}));
}

TEST(LoopTimes, WorkForTasksCountsForNothing) {
  LoopTimes times(name_of);
  times.most(kBegin);
  one_window(times, PeerId(4), {.time = milliseconds(2), .tasks = 20});
  EXPECT_TRUE(times.most(kBegin + kLoopWindow).empty());
}

}  // namespace
}  // namespace proffer::master::loop_times_test
