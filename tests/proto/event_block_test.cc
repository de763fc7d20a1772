// Blocks of the event log: events are read back as lines, and arbitrary bytes cause no harm.

#include "proto/event_block.h"

#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "proto/json/event_lines.h"
#include "tests/proto/record_lines.h"

namespace proffer::proto {
namespace {

using Lines = std::vector<std::string>;
using test::lines_of;
using testing::ElementsAre;
using testing::HasSubstr;

struct TaskStarted {
  std::string framework;
  std::string task;
  int64_t slots = 0;
  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "task started"}; }
  void fields(TraceFields& f) const { f("framework", framework)("task", task)("slots", slots); }
};

struct UserSaid {
  std::string user;
  std::string text;
  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "user said"}; }
  void fields(TraceFields& f) const { f("user", user).free_text("text", text); }
};

struct FrameworkOf {
  std::string user;
  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "framework of a user"}; }
  void fields(TraceFields& f) const { f("framework", "web-1")("user", user); }
};

const EventOwners kOwners = {{"web-1", {.user = "ada", .role = "eng"}}};
constexpr EventPlace kFirst{LeaderEpoch(17), 4021};
constexpr Time kNow = Time::from_nanos(1'795'752'607'113'000'000);

// Adds events at the next places.
class Block {
 public:
  explicit Block(const EventPlace& first = kFirst) : next_(first) {}
  Block& add(const TraceEvent& event, Time at = kNow, const EventOwners& owners = kOwners) {
    writer_.add(next_, at, event, owners);
    ++next_.number;
    return *this;
  }
  EventBlockWriter& writer() { return writer_; }
  std::string take() { return writer_.take(); }

 private:
  EventPlace next_;
  EventBlockWriter writer_;
};

TEST(EventBlock, IsReadAsLines) {
  const std::string block = Block()
                                .add(TaskStarted{"web-1", "t1", 2})
                                .add(TaskStarted{"other", "t2", -3}, kNow + milliseconds(7))
                                .add(UserSaid{"bob", "a \"b\"\n\xff"}, kNow - seconds(1))
                                .take();
  EXPECT_THAT(
      lines_of(block),
      ElementsAre(
          R"({"seq":"17.4021","time_s":1795752607.113,"event":"task started","level":"detail",)"
          R"("framework":"web-1","task":"t1","slots":2,"user":"ada","role":"eng"})",
          R"({"seq":"17.4022","time_s":1795752607.120,"event":"task started","level":"detail",)"
          R"("framework":"other","task":"t2","slots":-3})",
          "{\"seq\":\"17.4023\",\"time_s\":1795752606.113,\"event\":\"user said\","
          "\"level\":\"warning\",\"user\":\"bob\",\"text\":\"a \\\"b\\\"\\n\xef\xbf\xbd\"}"));
  EXPECT_EQ(first_place_of(block), kFirst);
  EXPECT_EQ(last_place_of(block), (EventPlace{LeaderEpoch(17), 4023}));
  EXPECT_EQ(last_line_of(block), lines_of(block).back());
  const EventLines all(block);
  ASSERT_EQ(all.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(all.line(i), lines_of(block)[i]);
}

TEST(EventBlock, HasNamesAndFrameworksOnce) {
  Block block;
  for (int i = 0; i < 100; ++i) block.add(TaskStarted{"web-1", "t", i});
  const std::string bytes = block.take();
  for (const char* once : {"task started", "framework", "slots", "web-1", "ada", "eng"}) {
    const size_t at = bytes.find(once);
    ASSERT_NE(at, std::string::npos) << once;
    EXPECT_EQ(bytes.find(once, at + 1), std::string::npos) << once;
  }
}

// Thousands of blocks wait in memory.
TEST(EventBlock, TakesNoMoreRoomThanItHasBytes) {
  Block block;
  for (int i = 0; i < 1'000; ++i) block.add(TaskStarted{"web-1", "t", i});
  block.take();
  const std::string small = block.add(TaskStarted{"web-1", "t1"}).take();
  EXPECT_LT(small.capacity(), 2 * small.size());
}

TEST(EventBlock, SaysOfAnEventWithoutAUserWhatTheFrameworkHas) {
  Block block;
  block.add(FrameworkOf{"eve"}).add(TaskStarted{"web-1", "t1"});
  EXPECT_THAT(lines_of(block.take()), ElementsAre(HasSubstr(R"("user":"eve","role":"eng"})"),
                                                  HasSubstr(R"("user":"ada","role":"eng"})")));
  // From now on the framework belongs to another user, within the same block.
  const EventOwners others = {{"web-1", {.user = "bob", .role = ""}}};
  block.add(TaskStarted{"web-1", "t2"});
  block.writer().forget_owner("web-1");
  block.writer().forget_owner("unknown");
  block.add(TaskStarted{"web-1", "t3"}, kNow, others).add(TaskStarted{"web-1", "t4"}, kNow, others);
  const Lines lines = lines_of(block.take());
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], HasSubstr(R"("user":"ada","role":"eng"})"));
  for (const size_t i : {1, 2}) {
    EXPECT_THAT(lines[i], HasSubstr(R"("slots":0,"user":"bob"})"));
  }
}

TEST(EventBlock, CutsWhatSomebodyElseWrote) {
  const std::string said(kEventTextBytesMax + 1, 'x');
  const std::string line = last_line_of(Block().add(UserSaid{"bob", said}).take());
  EXPECT_THAT(line, HasSubstr(text(":\"", said.substr(1), "\"}")));
}

// A block does not depend on earlier blocks of the same writer.
TEST(EventBlock, IsAsThatOfANewWriter) {
  Block block;
  block.add(TaskStarted{"web-1", "t1"}).take();
  EXPECT_EQ(block.writer().events(), 0u);
  EXPECT_EQ(block.writer().bytes(), 0u);
  const EventPlace second{kFirst.leader, kFirst.number + 1};
  EXPECT_EQ(block.add(TaskStarted{"web-1", "t2"}).take(),
            Block(second).add(TaskStarted{"web-1", "t2"}).take());
}

TEST(EventBlock, HasAnyPlaceAndTime) {
  for (const EventPlace& first :
       {EventPlace{LeaderEpoch(0), 0}, EventPlace{LeaderEpoch(UINT64_MAX), UINT64_MAX - 2}}) {
    const std::string block = Block(first)
                                  .add(TaskStarted{}, Time())
                                  .add(TaskStarted{}, Time::from_nanos(INT64_MAX))
                                  .take();
    EXPECT_EQ(first_place_of(block), first);
    const Lines lines = lines_of(block);
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_THAT(lines[0], HasSubstr(R"("time_s":0.000,)"));
    EXPECT_THAT(lines[1], HasSubstr(R"("time_s":9223372036.854,)"));
  }
  // No events are before 1970.
  EXPECT_THAT(last_line_of(Block().add(TaskStarted{}, Time::from_nanos(-5)).take()),
              HasSubstr(R"("time_s":0.000,)"));
}

TEST(EventRecord, MayBeALine) {
  const std::string line = R"({"seq":"17.4021","time_s":1.000,"event":"x","level":"info"})";
  EXPECT_THAT(lines_of(line), ElementsAre(line));
  EXPECT_EQ(first_place_of(line), kFirst);
  EXPECT_EQ(last_place_of(line), kFirst);
  EXPECT_EQ(last_line_of(line), line);
  for (const char* other : {"", "{}", "\x01", "\x01\x01", "\x02 of a later version"}) {
    EXPECT_TRUE(lines_of(other).empty()) << other;
    EXPECT_EQ(first_place_of(other), std::nullopt) << other;
    EXPECT_EQ(last_place_of(other), std::nullopt) << other;
  }
}

std::string some_block(std::mt19937_64& draw) {
  Block block;
  for (uint64_t events = 1 + draw() % 5; events > 0; --events) {
    const Time at = kNow + milliseconds(static_cast<int64_t>(draw() % 2'000) - 1'000);
    const std::string drawn = text("n", draw() % 3);
    if (draw() % 2 == 0) {
      block.add(TaskStarted{drawn, text("t", draw()), static_cast<int64_t>(draw())}, at);
    } else {
      block.add(UserSaid{drawn, std::string(draw() % 300, 'x')}, at);
    }
  }
  return block.take();
}

// The problem with reading a part of a block, or a changed block; empty if there is none. `whole`
// has the lines of the original block.
std::string harm(const std::string& record, const Lines& whole, bool is_cut) {
  const Lines lines = lines_of(record);
  const auto first = first_place_of(record);
  const auto last = last_place_of(record);
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::optional<EventPlace> place = place_of(lines[i]);
    if (!place || *place != EventPlace{first->leader, first->number + i} || *place > *last) {
      return text("at another place: ", lines[i]);
    }
    if (is_cut && lines[i] != whole.at(i)) return text("another event: ", lines[i]);
    if (lines[i].find_first_of("\r\n") != std::string::npos) return text("two lines: ", lines[i]);
  }
  return {};
}

TEST(EventBlock, IsReadWithoutHarmIfItIsCutOrChanged) {
  std::mt19937_64 draw(1);
  size_t read = 0;
  for (int round = 0; round < 2'000; ++round) {
    const std::string block = some_block(draw);
    const Lines whole = lines_of(block);
    const std::string cut = block.substr(0, draw() % block.size());
    ASSERT_EQ(harm(cut, whole, true), "") << round;
    ASSERT_LT(lines_of(cut).size(), whole.size()) << round;
    std::string changed = block;
    for (uint64_t changes = 1 + draw() % 3; changes > 0; --changes) {
      changed[draw() % changed.size()] = static_cast<char>(draw());
    }
    ASSERT_EQ(harm(changed, whole, false), "") << round;
    read += lines_of(changed).size();
  }
  EXPECT_GT(read, 2'000u) << "too little was left to be read";
}

}  // namespace
}  // namespace proffer::proto
