// The event log of a master that does not answer: its blocks, and events of its time as a standby.

#include "cli/events_on_disk.h"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/text.h"
#include "common/trace.h"
#include "proto/event_block.h"
#include "store/checkpoint_log.h"
#include "tests/support/with_directory.h"

namespace proffer {
namespace {

struct Counted {
  uint64_t number = 0;
  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "counted"}; }
  void fields(TraceFields& f) const { f("n", number); }
};

std::string line(uint64_t number) {
  return text(R"({"seq":"1.)", number,
              R"(","time_s":0.000,"event":"counted","level":"detail","n":)", number, "}");
}

std::string block(uint64_t first, uint64_t last) {
  proto::EventBlockWriter writer;
  for (uint64_t i = first; i <= last; ++i) writer.add({LeaderEpoch(1), i}, Time(), Counted{i}, {});
  return writer.take();
}

using EventsOnDisk = test::WithDirectory;

TEST_F(EventsOnDisk, AreTheNewestThatThereIsRoomFor) {
  const std::string directory = root_.string();
  const auto write = [&](const char* file, const std::vector<std::string>& records) {
    ASSERT_TRUE(CheckpointLog::open(text(directory, "/", file))->log->append(records));
  };
  write("000000000001.log", {line(1), line(2)});
  write("000000000002.log", {block(3, 5), "\x02 of a later version", block(6, 6)});
  std::string all;
  for (uint64_t i = 1; i <= 6; ++i) all += line(i) + "\n";
  EXPECT_EQ(events_on_disk(directory, 100'000).value(), all);
  EXPECT_EQ(events_on_disk(directory, all.size()).value(), all);
  const size_t size = line(6).size() + 1;
  EXPECT_EQ(events_on_disk(directory, 5 * size).value(), all.substr(size));
  EXPECT_EQ(events_on_disk(directory, 2 * size - 1).value(), line(6) + "\n");
  EXPECT_EQ(events_on_disk(directory, size - 1).value(), "");
}

TEST_F(EventsOnDisk, AreMissingWithoutALog) {
  const auto none = events_on_disk(root_ / "events", 1'000);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::kNotFound);
  EXPECT_NE(none.error().message().find("events"), std::string::npos);
}

TEST_F(EventsOnDisk, SayWhyTheyCannotBeRead) {
  std::ofstream(root_ / "events") << "a file is in its place";
  const auto none = events_on_disk(root_ / "events", 1'000);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::kUnavailable);
  EXPECT_NE(none.error().message().find("Not a directory"), std::string::npos)
      << none.error().message();
}

}  // namespace
}  // namespace proffer
