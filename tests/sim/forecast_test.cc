// Forecasts of small clusters whose future can be computed by hand.

#include "sim/forecast.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "common/limits.h"
#include "common/text.h"
#include "proto/json/forecast_json.h"

namespace proffer::sim::forecast_test {
namespace {

const FrameworkId kFramework("sort-1-1");
const AgentId kAgent("a1");
const ResourceVector kShape = ResourceVector::of(1'000, 64'000);

// One agent with two CPUs, on which two tasks have run for 10 s.
proto::ForecastRequest busy_agent(int64_t pending) {
  proto::ForecastRequest request;
  proto::LiveSnapshot& live = request.live;
  live.taken = Time() + seconds(1'000);
  live.agents = {{.agent = kAgent, .total = parse_resources("cpus:2;mem:1GiB").value()}};
  live.frameworks = {{.framework = kFramework, .name = "sort", .role = RoleName("eng")}};
  live.asks = {{kFramework, {.name = AskName("map"), .shape = kShape, .count = pending}}};
  for (const char* task : {"map-1", "map-2"}) {
    live.tasks.push_back({.framework = kFramework,
                          .task = TaskId(task),
                          .agent = kAgent,
                          .ask = AskName("map"),
                          .role = RoleName("eng"),
                          .shape = kShape,
                          .since = seconds(10)});
  }
  return request;
}

void ran(proto::ForecastRequest& request, std::vector<Duration> durations) {
  request.durations = {{.framework = "sort",
                        .kind = proto::kind_of(AskName("map"), "", kShape),
                        .ran = std::move(durations)}};
}

proto::Forecast forecast_of(const proto::ForecastRequest& request) {
  // Encoded and decoded, as between a master and its child process.
  const auto read = proto::parse_forecast_request(proto::forecast_request_lines(request));
  EXPECT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, request);
  Result<proto::Forecast> made = forecast(*read);
  EXPECT_TRUE(made) << made.error().message();
  return made ? *made : proto::Forecast();
}

TEST(Forecast, OfTasksThatAlwaysRunEquallyLongIsExact) {
  proto::ForecastRequest request = busy_agent(4);
  ran(request, std::vector<Duration>(60, seconds(60)));
  const proto::Forecast made = forecast_of(request);
  EXPECT_EQ(made.as_of, request.live.taken);
  EXPECT_EQ(made.runs, 20);
  ASSERT_EQ(made.asks.size(), 1u);
  const proto::AskForecast& row = made.asks.front();
  EXPECT_EQ(row.framework, kFramework);
  EXPECT_EQ(row.ask, AskName("map"));
  EXPECT_EQ(row.tasks, 4);
  // All but one of sixty draws are between 0 s and 60 s; given 10 s, they are between 10 s and 60
  // s.
  EXPECT_LE(*row.first.p50, seconds(51));
  EXPECT_LE(*row.first.p90, seconds(51));
  EXPECT_LE(*row.first.p50, *row.first.p90);
  EXPECT_GE(*row.last.p50, *row.first.p50);
  EXPECT_LE(*row.last.p50, seconds(115));
  EXPECT_TRUE(made.unknown.empty());
}

TEST(Forecast, WhereThereIsRoomIsNow) {
  proto::ForecastRequest request = busy_agent(1);
  request.live.tasks.pop_back();
  const proto::Forecast made = forecast_of(request);
  EXPECT_LE(*made.asks.front().first.p90, seconds(1));
}

// The maximum number of asks of a framework, and tasks of asks that are no longer declared.
TEST(Forecast, OfAllAsksOfAFrameworkSaysWhenEachStarts) {
  proto::ForecastRequest request = busy_agent(1);
  request.live.asks.clear();
  for (size_t i = 0; i < kAsksMax; ++i) {
    const auto letter = [](size_t of) { return static_cast<char>('a' + of); };
    const std::string name = {'m', letter(i / 16), letter(i % 16)};
    request.live.asks.push_back({kFramework, {.name = AskName(name), .shape = kShape, .count = 1}});
  }
  request.durations = {{.framework = "sort", .ran = {seconds(20), seconds(30), seconds(40)}}};
  request.live.agents.front().total = parse_resources("cpus:16;mem:16GiB").value();
  const proto::Forecast made = forecast_of(request);
  ASSERT_EQ(made.asks.size(), kAsksMax);
  std::set<AskName> names;
  for (const proto::AskForecast& row : made.asks) {
    names.insert(row.ask);
    EXPECT_TRUE(row.first.p90.has_value()) << row.ask.str();
  }
  EXPECT_EQ(names.size(), kAsksMax);
}

TEST(Forecast, OfTasksThatNobodyKnowsNamesTheirFramework) {
  const proto::Forecast made = forecast_of(busy_agent(1));
  EXPECT_EQ(made.asks.front().first, proto::StartForecast());
  EXPECT_EQ(made.unknown, std::vector<std::string>{"sort"});
}

TEST(Forecast, OfWhatNeverFitsSaysNothing) {
  proto::ForecastRequest request = busy_agent(1);
  request.live.asks.front().ask.shape = ResourceVector::of(3'000, 64'000);
  ran(request, {seconds(20), seconds(30)});
  EXPECT_EQ(forecast_of(request).asks.front().first, proto::StartForecast());
}

TEST(Forecast, IsTheSameForTheSameSeed) {
  proto::ForecastRequest request = busy_agent(9);
  ran(request, {seconds(20), seconds(30), seconds(90), seconds(600)});
  const proto::Forecast one = forecast(request, {.seed = 7}).value();
  EXPECT_EQ(one, forecast(request, {.seed = 7}).value());
  EXPECT_NE(one, forecast(request, {.seed = 8}).value());
}

TEST(Forecast, SaysSoIfThereWasNoTime) {
  proto::ForecastRequest request = busy_agent(1);
  ran(request, {seconds(20), seconds(30)});
  const Result<proto::Forecast> made = forecast(request, {.may_go_on = [] { return false; }});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message(), "only 1 of 5 runs were possible in the available time");
}

TEST(Forecast, EndsWithTheBoundOnStarts) {
  proto::ForecastRequest request = busy_agent(10'000);
  ran(request, std::vector<Duration>(3, seconds(60)));
  const proto::Forecast made = forecast(request, {.starts_max = 400}).value();
  EXPECT_TRUE(made.asks.front().first.p90.has_value());
  EXPECT_EQ(made.asks.front().last, proto::StartForecast());
}

// A new duration is equally likely in each interval between the known ones.
TEST(DrawOneMore, FallsBetweenAllThatAreKnownEquallyOften) {
  const std::vector<Duration> known = {seconds(10), seconds(20), seconds(100)};
  int counts[4] = {};
  for (uint64_t i = 0; i < 4'000; ++i) {
    const Duration drawn = draw_one_more(known, Duration(), i);
    const auto place = std::lower_bound(known.begin(), known.end(), drawn) - known.begin();
    ++counts[place];
    EXPECT_LE(drawn, seconds(1'001));
  }
  for (const int count : counts) EXPECT_NEAR(count, 1'000, 120);
}

TEST(DrawOneMore, IsLongerThanTheTaskHasRunAlready) {
  const std::vector<Duration> known = {seconds(10), seconds(20), seconds(100)};
  for (uint64_t i = 0; i < 1'000; ++i) {
    EXPECT_GE(draw_one_more(known, seconds(50), i), seconds(50));
    EXPECT_GE(draw_one_more(known, seconds(500), i), seconds(500));
    EXPECT_LE(draw_one_more(known, seconds(500), i), seconds(5'000));
  }
}

}  // namespace
}  // namespace proffer::sim::forecast_test
