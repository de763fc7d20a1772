// The newest events in memory: how many are kept, and from which place on they can be read.

#include "master/shell/recent_events.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/text.h"
#include "proto/event_block.h"

namespace proffer::master::recent_events_test {
namespace {

constexpr proto::EventPlace place(uint64_t number) { return {LeaderEpoch(1), number}; }

struct Counted {
  uint64_t number = 0;
  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "counted"}; }
  void fields(TraceFields& f) const { f("n", number); }
};

// The events `first` to `last` as one block; no block if there are none.
std::vector<std::string> block(uint64_t first, uint64_t last) {
  if (last < first) return {};
  proto::EventBlockWriter writer;
  for (uint64_t number = first; number <= last; ++number) {
    writer.add(place(number), Time(), Counted{number}, {});
  }
  return {writer.take()};
}

std::string from(const RecentEvents& events, uint64_t number, size_t at_most = 100) {
  std::string read;
  size_t left = at_most;
  events.each_from(place(number), [&](std::string_view line, const proto::EventPlace& at) {
    EXPECT_TRUE(line.ends_with(text("\"n\":", at.number, "}"))) << line;
    if (left-- == 0) return false;
    read += text(at.number, ' ');
    return true;
  });
  return read;
}

TEST(RecentEvents, AreReadFromAnyPlaceOverSeveralBlocks) {
  RecentEvents events(10'000);
  EXPECT_TRUE(events.is_empty());
  EXPECT_FALSE(events.has(place(1)));
  events.add(block(5, 7));
  events.add(block(1, 0));  // an empty block
  events.add(block(9, 9));  // Event 8 is missing before it.
  events.add(block(10, 11));
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

TEST(RecentEvents, KeepAsManyBytesAsTheyMayAndAtMostOneBlockMore) {
  const size_t bytes = block(10, 19).at(0).size();
  RecentEvents events(2 * bytes);
  for (uint64_t write = 1; write <= 9; ++write) {
    events.add(block(write * 10, write * 10 + 9));
    const uint64_t first = write < 2 ? 1 : write - 1;
    EXPECT_TRUE(events.has(place(first * 10))) << write;
    EXPECT_FALSE(events.has(place(first * 10 - 1))) << write;
  }
  // One block may be larger than the limit.
  events.add(block(100, 199));
  EXPECT_TRUE(events.has(place(100)));
  EXPECT_FALSE(events.has(place(99)));
}

// A reader of the newest event will also read the next ones, so their lines can be made in advance.
TEST(RecentEvents, SayWhetherSomebodyFollows) {
  RecentEvents events(10'000);
  EXPECT_FALSE(events.is_followed());
  events.add(block(1, 3));
  EXPECT_FALSE(events.is_followed());
  EXPECT_EQ(from(events, 3), "3 ");
  EXPECT_TRUE(events.is_followed());
  // These lines come with their block.
  std::vector<std::string> blocks = block(4, 5);
  std::vector<proto::EventLines> lines;
  lines.emplace_back(blocks.at(0));
  events.add(std::move(blocks), std::move(lines));
  EXPECT_EQ(from(events, 2), "2 3 4 5 ");
  events.add(block(6, 7));
  EXPECT_EQ(from(events, 1, 2), "1 2 ");
  EXPECT_FALSE(events.is_followed()) << "nobody has read the newest";
}

TEST(RecentEvents, MayBeNone) {
  RecentEvents events(0);
  events.add(block(1, 5));
  EXPECT_TRUE(events.is_empty());
  EXPECT_FALSE(events.has(place(1)));
}

}  // namespace
}  // namespace proffer::master::recent_events_test
