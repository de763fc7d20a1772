#include "frameworks/batch/shell/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/json/json.h"

namespace proffer::batch::progress_test {
namespace {

using ::testing::ElementsAre;

proto::BatchJob half_way() {
  proto::BatchJob status;
  status.phase = proto::BatchPhase::kMap;
  status.output = "/out";
  status.map.total = 10;
  status.map.done = 5;
  status.map.running = 3;
  status.map.eta = seconds(75);
  status.reduce.total = 2;
  return status;
}

TEST(Bars, ShowHowFarEachStageIs) {
  EXPECT_THAT(bars(half_way(), 70),
              ElementsAre("map     [########---------]  50 %  5 of 10  3 running  1 min 15 s left",
                          "reduce  [-----------------]   0 %  0 of 2"));
}

TEST(Bars, FitIntoAnyTerminal) {
  for (size_t columns = 1; columns < 200; ++columns) {
    for (const std::string& line : bars(half_way(), columns)) ASSERT_LE(line.size(), columns);
  }
  proto::BatchJob maps_only = half_way();
  maps_only.reduce.total = 0;
  EXPECT_EQ(bars(maps_only, 80).size(), 1u);
}

TEST(ProgressLine, IsPlain) {
  EXPECT_EQ(progress_line(half_way()), "map 5 of 10, reduce 0 of 2, 3 running, 1 min 15 s left");
  proto::BatchJob slow = half_way();
  slow.map.copies = 1;
  EXPECT_EQ(
      progress_line(slow),
      "map 5 of 10, reduce 0 of 2, 3 running, 1 of them with a second attempt, 1 min 15 s left");
}

TEST(ProgressJson, IsOneObject) {
  const auto members = proto::parse_json_line(progress_json(half_way(), milliseconds(1'500)));
  ASSERT_TRUE(members) << members.error().message();
  EXPECT_TRUE(members->at("maps_done") == proto::JsonValue(int64_t{5}));
  EXPECT_TRUE(members->at("elapsed_s") == proto::JsonValue(proto::MilliNumber{1'500}));
  const auto result = proto::parse_json_line(result_json(half_way(), seconds(2)));
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_TRUE(result->at("event") == proto::JsonValue(std::string("finished")));
  EXPECT_TRUE(result->at("output") == proto::JsonValue(std::string("/out")));
}

}  // namespace
}  // namespace proffer::batch::progress_test
