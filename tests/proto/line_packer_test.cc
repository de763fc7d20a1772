// The events that a standby keeps: as compact as at their leader, with the same lines when read.

#include "proto/json/line_packer.h"

#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "proto/event_block.h"
#include "proto/json/event_lines.h"
#include "proto/json/events_json.h"
#include "tests/proto/record_lines.h"

namespace proffer::proto {
namespace {

using Lines = std::vector<std::string>;

using test::lines_of;

// The records for a page of these lines.
std::vector<std::string> kept_of(const Lines& lines) {
  EventPlace next;
  if (!lines.empty()) {
    next = *place_of(lines.back());
    ++next.number;
  }
  const Result<FollowedEvents> page = parse_followed_events(event_page_json(lines, next), {});
  EXPECT_TRUE(page) << page.error().message();
  if (!page) return {};
  EXPECT_EQ(page->events, lines.size());
  EXPECT_EQ(lines_of(page->records), lines);
  return page->records;
}

// The number of events in each record; 0 for a single line.
std::vector<uint64_t> events_in(const std::vector<std::string>& records) {
  std::vector<uint64_t> events;
  for (const std::string& record : records) {
    const auto block = EventBlockReader::open(record);
    events.push_back(block ? block->events() : 0);
  }
  return events;
}

std::string line(uint64_t number, std::string_view fields, uint64_t leader = 17) {
  return text(R"({"seq":")", leader, '.', number,
              R"(","time_s":1795752607.113,"event":"task started","level":"detail")", fields, '}');
}

TEST(LinePacker, MakesBlocksOfEventsThatFollowEachOther) {
  const auto packed = [](const Lines& lines) { return events_in(kept_of(lines)); };
  using Events = std::vector<uint64_t>;
  const std::string task = R"(,"task":"t1","slots":-3)";
  EXPECT_EQ(packed({}), Events());
  EXPECT_EQ(packed({line(1, task), line(2, ""), line(3, task)}), Events{3});
  EXPECT_EQ(packed({line(1, task), line(3, task)}), (Events{1, 1}));
  EXPECT_EQ(packed({line(9, task), line(1, task, 18)}), (Events{1, 1}));
  // Texts that a block could not reproduce exactly.
  for (const char* other : {R"(,"a":"\u00e9")", R"(,"a":1.5)", R"(,"a":true)", R"(,"a": 1)"}) {
    EXPECT_EQ(packed({line(1, task), line(2, other), line(3, task)}), (Events{1, 0, 1})) << other;
  }
  const std::string most(kEventTextBytesMax, 'x');
  for (const char* name : {"user", "role", "other"}) {
    for (const char* more : {"", "x"}) {
      const std::string fields = text(R"(,"framework":"f",")", name, "\":\"", most, more, '"');
      EXPECT_EQ(packed({line(1, fields)}), Events{1}) << name;
    }
  }
  EXPECT_EQ(packed({line(1, text(R"(,"framework":")", most, '"'))}), Events{1});
  EXPECT_EQ(packed({line(1, text(R"(,"framework":")", most, "x\""))}), Events{0});
}

// Frameworks that change owners, fields in any order, missing or unusual events.
TEST(LinePacker, KeepsEachLineOfAnyPage) {
  const std::vector<std::string> fields = {
      R"("user":"ada")",        R"("user":"bob")",    R"("user":"")",   R"("user":4)",
      R"("role":"eng")",        R"("role":"ops")",    R"("role":"")",   R"("framework":"web-1")",
      R"("framework":"other")", R"("framework":7)",   R"("task":"t1")", R"("task":"t2")",
      R"("slots":-3)",          R"("said":"\u00e9")", R"("x":true)",    R"("framework":"")",
  };
  const auto name_of = [](const std::string& field) { return field.substr(0, field.find(':')); };
  for (uint64_t seed = 1; seed <= 3'000; ++seed) {
    std::mt19937_64 draw(seed);
    Lines lines;
    uint64_t number = 0;
    for (uint64_t left = draw() % 8; left > 0; --left) {
      number += draw() % 8 == 0 ? 2 : 1;
      std::string members;
      std::set<std::string> names;
      for (uint64_t more = draw() % 6; more > 0; --more) {
        const std::string& field = fields[draw() % fields.size()];
        if (names.insert(name_of(field)).second) members += text(',', field);
      }
      lines.push_back(line(number, members));
    }
    kept_of(lines);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(LinePacker, KeepsWhatIsSaidOfAFrameworksOwner) {
  Lines lines;
  uint64_t number = 0;
  for (const char* fields : {
           R"("user":"ada","role":"eng")",
           R"("user":"bob","role":"eng")",
           R"("user":"bob")",
           R"("role":"eng")",
           R"("role":"eng","user":"bob")",
           R"("user":"eve","task":"t1","role":"eng")",
           R"("role":"ops","task":"t1","user":"ada")",
           R"("role":"ops","task":"t1")",
           R"("user":"eve","role":"ops","task":"t1")",
           R"("user":"","role":"")",
           R"("user":5,"role":"eng")",
           R"("user":"ada","role":7)",
           R"("task":"t1")",
       }) {
    for (const char* framework : {"web-1", "other", "web-1"}) {
      lines.push_back(line(++number, text(R"(,"framework":")", framework, "\",", fields)));
      lines.push_back(line(++number, text(R"(,"task":"t2","framework":")", framework, '"')));
      lines.push_back(line(++number, text(',', fields)));
      lines.push_back(line(++number, text(',', fields, R"(,"framework":"web-1")")));
    }
  }
  lines.push_back(line(++number, R"(,"user":"ada","role":"eng","framework":"web-1")"));
  EXPECT_EQ(kept_of(lines).size(), 1u);
}

TEST(LinePacker, NeedsAQuarterOfTheBytes) {
  Lines lines;
  size_t bytes = 0;
  for (uint64_t i = 1; i <= 2'500; ++i) {
    lines.push_back(line(i, text(R"(,"framework":"web-1","task":"t)", i, R"(","agent":"a)", i % 7,
                                 R"(","user":"ada","role":"eng")")));
    bytes += lines.back().size();
  }
  const std::vector<std::string> records = kept_of(lines);
  EXPECT_EQ(events_in(records), (std::vector<uint64_t>{1'000, 1'000, 500}));
  size_t packed = 0;
  for (const std::string& record : records) packed += record.size();
  EXPECT_LT(packed, bytes / 4);
}

TEST(LinePacker, EndsBlocksOfLongEventsEarly) {
  Lines lines;
  for (uint64_t i = 1; i <= 30; ++i) {
    lines.push_back(line(i, text(R"(,"said":")", std::string(30'000, 'x'), '"')));
  }
  const std::vector<std::string> records = kept_of(lines);
  for (const std::string& record : records) {
    EXPECT_LT(record.size(), kEventBlockBytesMax + 31'000);
  }
  EXPECT_EQ(records.size(), 4u);
}

}  // namespace
}  // namespace proffer::proto
