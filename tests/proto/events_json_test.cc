// Events as a standby reads them from its leader: a fast parser accepts plain lines, and every
// other parser accepts these too.

#include "proto/json/events_json.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "proto/json/event_lines.h"
#include "tests/proto/record_lines.h"

namespace proffer::proto {
namespace {

const std::string kHead = R"({"seq":"17.4021","time_s":1795752607.113,"event":)";

// Lines as in proto/json/event_lines.h, and almost such lines.
std::vector<std::string> lines() {
  return {
      kHead + R"("task launched","level":"detail","framework":"web-1","task":"t1","agent":"a1"})",
      kHead + R"("task ended","level":"detail","task":"t1","exit_code":-9,"signal":9})",
      kHead + R"("master leads","level":"info"})",
      kHead + R"("gap","level":"warning","until":"18.1","lost":3})",
      kHead + R"("audit: refused","level":"warning","of":"a \"b\" \u001f \u00e9","user":"ada"})",
      kHead + R"("x","level":"info","a":0,"b":true,"c":1.5,"d":["e"]})",
  };
}

// A change that a broken or hostile leader could make.
std::string mutated(std::string line, std::mt19937_64& draw) {
  const auto below = [&](size_t end) { return static_cast<size_t>(draw() % end); };
  constexpr std::string_view kBytes = "\"\\,:{}[]0123456789.-+eE tnu\n\r\x01\x7f\xc3\xa9";
  const std::vector<std::string> parts = {
      R"(,"task":"t2")",
      R"(,"seq":"17.4021")",
      R"(,"time_s":5)",
      R"(,"level":"x")",
      R"(,"":1)",
      R"(,"n":007)",
      R"(,"n":-0)",
      R"(,"n":1e9)",
      R"(,"n":null)",
      R"(,"n":{})",
      "000000000000000000",
      "99999999999999",
      "-",
      R"(,"a":"b")",
      R"(},{)",
  };
  for (size_t changes = 1 + below(3); changes > 0; --changes) {
    const size_t at = below(line.size());
    switch (below(5)) {
      case 0:
        line.erase(at, 1 + below(3));
        break;
      case 1:
        line.insert(at, 1, kBytes[below(kBytes.size())]);
        break;
      case 2:
        line[at] = kBytes[below(kBytes.size())];
        break;
      case 3: {  // inserts a complete text before a member or the end
        const size_t end = line.find_first_of(",}", at);
        line.insert(end == line.npos ? line.size() : end, parts[below(parts.size())]);
        break;
      }
      default: {  // repeats a member
        const size_t begin = line.find(',', at);
        const size_t end = begin == line.npos ? begin : line.find_first_of(",}", begin + 1);
        if (end != line.npos) line.insert(end, line.substr(begin, end - begin));
      }
    }
    if (line.empty()) return "{}";
  }
  return line;
}

// The problem with reading a page of this line; empty if there is none.
std::string disagreement(const std::string& line) {
  const std::optional<EventPlace> place = place_of(line);
  const EventPlace next =
      place ? EventPlace{place->leader, place->number + 1} : EventPlace{LeaderEpoch(1), 1};
  const std::string json = event_page_json({line}, next);
  const Result<EventPage> page = parse_event_page(json);
  const Result<FollowedEvents> followed = parse_followed_events(json, {});
  if (followed && !page) return "other readers refuse it: " + page.error().message();
  if (followed) {
    std::vector<EventPlace> seen;
    for (const EventRow& row : page->events) {
      if (row.event != "gap") seen.push_back(row.seq);
    }
    if (seen.size() != followed->events) return "they see another number of events";
    const std::vector<std::string> kept = test::lines_of(followed->records);
    if (kept.size() != seen.size()) return "another number of events is kept";
    for (size_t i = 0; i < seen.size(); ++i) {
      if (place_of(kept[i]) != seen[i]) return "they see another place";
    }
    return seen.empty() || kept == std::vector{line} ? "" : "another line is kept: " + kept[0];
  }
  const bool is_for_all = page && page->events.size() == 1 && page->events[0].seq == place &&
                          lines_of_event_page(json) == std::vector{line} &&
                          line.find_first_of("\r\n") == line.npos && place->number != UINT64_MAX;
  return is_for_all ? "other readers take it: " + followed.error().message() : std::string();
}

TEST(FollowedLines, AreThoseThatAllReadersTake) {
  for (const std::string& line : lines()) {
    EXPECT_EQ(disagreement(line), "") << line;
    EXPECT_TRUE(parse_followed_events(event_page_json({line}, {LeaderEpoch(17), 4022}), {}))
        << line;
  }
  size_t taken = 0;
  for (uint64_t seed = 1; seed <= 10'000; ++seed) {
    std::mt19937_64 draw(seed);
    const std::vector<std::string> all = lines();
    const std::string line = mutated(all[draw() % all.size()], draw);
    ASSERT_EQ(disagreement(line), "") << "seed " << seed << ": " << line;
    taken += parse_event_page(event_page_json({line}, {LeaderEpoch(1), 1})) ? 1 : 0;
  }
  // Some lines are accepted and some are refused.
  EXPECT_GT(taken, 1'000u);
  EXPECT_LT(taken, 9'000u);
}

// The fast parser once accepted each of these.
TEST(FollowedLines, AreRefusedWithDoubledMembersAndImpossibleTimes) {
  const std::string end = R"(,"event":"x","level":"info")";
  const std::string head = R"({"seq":"1.2","time_s":)";
  for (const std::string& line : {
           head + "1.000" + end + R"(,"a":1,"a":2})",
           head + "1.000" + end + R"(,"a":"b","c":1,"a":"b"})",
           head + "-1.000" + end + "}",
           head + "999999999999999999.000" + end + "}",
           head + "9300000000.000" + end + "}",
       }) {
    EXPECT_FALSE(parse_followed_events(event_page_json({line}, {LeaderEpoch(1), 3}), {})) << line;
    EXPECT_EQ(disagreement(line), "") << line;
  }
}

}  // namespace
}  // namespace proffer::proto
