// The masters of a cluster in JSON, and a standby's own report.

#include "proto/json/masters_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/json/history_json.h"

namespace proffer::proto::masters_json_test {
namespace {

using testing::HasSubstr;

const std::string kId(32, 'a');

TEST(MastersJson, ReadsBackWhatItPrints) {
  const std::vector<MasterRow> rows = {
      {.name = "m1:5050",
       .id = MasterId(kId),
       .role = MasterRole::kLeads,
       .since = Time() + seconds(30),
       .first = LeaderEpoch(3),
       .last = LeaderEpoch(5),
       .led_since = Time() + seconds(10)},
      {.name = "/run/m2.sock", .role = MasterRole::kStandby, .keeps_history = false},
      {.name = "m3:5050",
       .role = MasterRole::kAway,
       .first = LeaderEpoch(4),
       .last = LeaderEpoch(4),
       .led_since = Time() + seconds(20),
       .led_until = Time() + seconds(30)},
      {.name = "m3:5050", .role = MasterRole::kStandby, .events_behind = 12}};
  const Result<std::vector<MasterRow>> read = parse_masters_list(masters_json(rows));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, rows);
  EXPECT_THAT(masters_json(rows), HasSubstr(R"("role":"away")"));

  HistoryPage page;
  page.missing = rows;
  const Result<HistoryPage> page_read = parse_history_page(history_page_json(page));
  ASSERT_TRUE(page_read) << page_read.error().message();
  EXPECT_EQ(*page_read, page);
  const HistoryQuery query{.master = MasterId(kId), .before = "1.2"};
  EXPECT_EQ(*parse_history_query(history_query_json(query)), query);
}

TEST(MastersJson, AStandbySaysAllOfItselfOrIsRefused) {
  const StandbyCall call{.master = MasterId(kId), .name = "m1:5050", .keeps_history = true};
  EXPECT_EQ(*parse_standby_call(standby_call_json(call)), call);
  const struct {
    std::string json;
    const char* why;
  } wrong[] = {
      {"", "id: is missing"},
      {"{}", "id"},
      {R"({"id":"a","master":"m","keeps_history":true})", "32 hexadecimal digits"},
      {R"({"id":")" + kId + R"(","master":"","keeps_history":true})", "1 to 264 bytes"},
      {R"({"id":")" + kId + R"(","master":")" + std::string(265, 'm') +
           R"(","keeps_history":true})",
       "1 to 264 bytes"},
      {R"({"id":")" + kId + R"(","master":"m","keeps_history":true,"x":1})", "x"},
  };
  for (const auto& [json, why] : wrong) {
    const Result<StandbyCall> read = parse_standby_call(json);
    ASSERT_FALSE(read) << json;
    EXPECT_EQ(read.error().code(), ErrorCode::kInvalidArgument) << json;
    EXPECT_THAT(read.error().message(), HasSubstr(why)) << json;
  }
}

}  // namespace
}  // namespace proffer::proto::masters_json_test
