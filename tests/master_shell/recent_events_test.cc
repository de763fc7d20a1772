// The newest events in memory: how many are kept, and from where they can be read.

#include "master/shell/recent_events.h"

#include <string>

#include <gtest/gtest.h>

#include "common/text.h"

namespace proffer::master::recent_events_test {
namespace {

constexpr proto::EventPlace place(uint64_t number) { return {LeaderEpoch(1), number}; }

// Lines "first" to "last" as one write.
EventLines lines(uint64_t first, uint64_t last) {
  EventLines written;
  for (uint64_t number = first; number <= last; ++number) {
    written.lines.add(text(number));
    written.places.push_back(place(number));
  }
  return written;
}

std::string from(const RecentEvents& events, uint64_t number, size_t at_most = 100) {
  std::string read;
  size_t left = at_most;
  events.each_from(place(number), [&](std::string_view line, const proto::EventPlace& at) {
    EXPECT_EQ(line, text(at.number));
    if (left-- == 0) return false;
    read += text(line, ' ');
    return true;
  });
  return read;
}

TEST(RecentEvents, AreReadFromAnyPlaceOverSeveralWrites) {
  RecentEvents events(10'000);
  EXPECT_TRUE(events.is_empty());
  EXPECT_FALSE(events.has(place(1)));
  events.add(lines(5, 7));
  events.add(lines(1, 0));  // nothing
  events.add(lines(9, 9));  // One is missing before it.
  events.add(lines(10, 11));
  EXPECT_EQ(events.last(), place(11));
  EXPECT_TRUE(events.has(place(5)));
  EXPECT_FALSE(events.has(place(4)));
  EXPECT_EQ(from(events, 5), "5 6 7 9 10 11 ");
  EXPECT_EQ(from(events, 7), "7 9 10 11 ");
  EXPECT_EQ(from(events, 8), "9 10 11 ");
  EXPECT_EQ(from(events, 11), "11 ");
  EXPECT_EQ(from(events, 12), "");
  EXPECT_EQ(from(events, 5, 4), "5 6 7 9 ");
}

TEST(RecentEvents, KeepAsManyBytesAsTheyMayAndAtMostOneWriteMore) {
  const size_t bytes = lines(10, 19).lines.bytes();
  RecentEvents events(2 * bytes);
  for (uint64_t write = 1; write <= 9; ++write) {
    events.add(lines(write * 10, write * 10 + 9));
    const uint64_t first = write < 2 ? 1 : write - 1;
    EXPECT_TRUE(events.has(place(first * 10))) << write;
    EXPECT_FALSE(events.has(place(first * 10 - 1))) << write;
  }
  // One write that is larger than all that is kept.
  events.add(lines(100, 199));
  EXPECT_TRUE(events.has(place(100)));
  EXPECT_FALSE(events.has(place(99)));
}

TEST(RecentEvents, MayBeNone) {
  RecentEvents events(0);
  events.add(lines(1, 5));
  EXPECT_TRUE(events.is_empty());
  EXPECT_FALSE(events.has(place(1)));
}

}  // namespace
}  // namespace proffer::master::recent_events_test
