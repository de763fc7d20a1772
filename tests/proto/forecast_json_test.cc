// Forecasts as JSON and back.

#include "proto/json/forecast_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/json/json.h"

namespace proffer::proto::forecast_json_test {
namespace {

using testing::HasSubstr;

PendingRow row_with_eta() {
  return {.framework = FrameworkId("sort-1-1"),
          .name = "sort",
          .user = "ann",
          .role = RoleName("eng"),
          .ask = AskName("map"),
          .shape = ResourceVector::of(1'500, 512'000),
          .wanted = 9,
          .offered = 1,
          .reason = WaitReason::kShare,
          .since = Time() + seconds(50),
          .eta = Eta{.p50 = seconds(40),
                     .p90 = milliseconds(120'500),
                     .all_p50 = minutes(9),
                     .as_of = Time() + seconds(90),
                     .runs = 20}};
}

TEST(PendingJson, SaysWhenOrWhyNot) {
  PendingRow without = row_with_eta();
  without.eta.reset();
  without.no_eta = NoEta::kNoDurations;
  without.unknown = "web";
  const PendingPage page{.now = Time() + seconds(100),
                         .asks = {row_with_eta(), without},
                         .calibration = {.starts = 10, .below_p50 = 5, .below_p90 = 9}};
  const std::string json = pending_json(page);
  EXPECT_THAT(json, HasSubstr(R"("eta":{"p50_s":40,"p90_s":120.5,"all_p50_s":540,"as_of_s":90)"));
  EXPECT_THAT(json, HasSubstr(R"("no_eta":"no_durations","unknown":"web")"));
  EXPECT_EQ(parse_pending(json).value(), page);
}

TEST(PendingJson, StandsBesideTheExplanationOfAFramework) {
  const std::string json = explanation_with_pending(explanation_json({}), {row_with_eta()});
  EXPECT_EQ(parse_explanation(json).value(), Explanation());
  EXPECT_EQ(parse_pending_of_explanation(json).value(), std::vector{row_with_eta()});
  EXPECT_TRUE(parse_pending_of_explanation(explanation_json({})).value().empty());
}

TEST(ForecastJson, IsReadBack) {
  Forecast forecast{.as_of = Time() + seconds(90), .runs = 20, .reaches = hours(24)};
  forecast.asks = {{.framework = FrameworkId("sort-1-1"),
                    .ask = AskName("map"),
                    .tasks = 9,
                    .first = {seconds(1), seconds(2)},
                    .last = {seconds(3), {}}}};
  forecast.unknown = {"web"};
  EXPECT_EQ(parse_forecast(forecast_json(forecast)).value(), forecast);
}

TEST(ForecastJson, AWrongLineOfARequestIsNamed) {
  ForecastRequest request;
  request.durations = {
      {.framework = "sort", .kind = "map|cpus:1", .ran = {seconds(1), minutes(2)}}};
  const std::string lines = forecast_request_lines(request);
  EXPECT_EQ(parse_forecast_request(lines).value(), request);
  for (const auto& [wrong, says] :
       {std::pair<std::string, std::string>{R"({"durations":[{"ran_ms":"1,2"}]})", "line 1"},
        {R"({"durations":[{"ran_ms":"-1"}]})", "milliseconds"},
        {"{\"durations\":[]}\n[]", "line 2"},
        {"", ""}}) {
    const Result<ForecastRequest> read = parse_forecast_request(wrong);
    if (says.empty()) {
      EXPECT_TRUE(read);
      continue;
    }
    ASSERT_FALSE(read) << wrong;
    EXPECT_THAT(read.error().message(), HasSubstr(says));
  }
}

TEST(NoEta, WordsAreReadBack) {
  for (const NoEta why :
       {NoEta::kNotYet, NoEta::kNoDurations, NoEta::kBeyond, NoEta::kImpossible, NoEta::kAway,
        NoEta::kSuppressed, NoEta::kTooLarge, NoEta::kFailed, NoEta::kNotYours}) {
    EXPECT_EQ(parse_no_eta(to_text(why)), why);
    EXPECT_FALSE(explained(why).empty());
  }
  EXPECT_EQ(parse_no_eta("soon"), std::nullopt);
}

}  // namespace
}  // namespace proffer::proto::forecast_json_test
