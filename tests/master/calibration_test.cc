// Forecasts are compared with what came of them, and the next ones are corrected by that.

#include "master/forecast/calibration.h"

#include <gtest/gtest.h>

#include "common/prng.h"
#include "common/text.h"

namespace proffer::master::calibration_test {
namespace {

const FrameworkId kFramework("f-1");

proto::LiveSnapshot live(const std::vector<std::string>& asks, int64_t count = 1) {
  proto::LiveSnapshot all;
  all.frameworks = {{.framework = kFramework, .name = "f", .role = RoleName("eng")}};
  for (const std::string& ask : asks) {
    all.asks.push_back({kFramework, {.name = AskName(ask), .count = count}});
  }
  return all;
}

class Master {
 public:
  // What is told of the asks at `now`, when a forecast says this.
  proto::AskForecast forecast(const std::string& ask, Time now, Duration p50, Duration p90,
                              int64_t tasks = 1) {
    calibration.begin(live({ask}, tasks));
    return correct(ask, now, p50, p90, tasks);
  }
  proto::AskForecast correct(const std::string& ask, Time now, Duration p50, Duration p90,
                             int64_t tasks = 1) {
    proto::Forecast made{.as_of = now, .runs = 20};
    made.asks = {{.framework = kFramework,
                  .ask = AskName(ask),
                  .tasks = tasks,
                  .first = {p50, p90},
                  .last = {p50 * 2, p90 * 2}}};
    calibration.correct(made);
    return made.asks.front();
  }
  void launch(const std::string& ask, Time now) {
    calibration.launched(kFramework, AskName(ask), now);
  }
  proto::EtaFigures figures() const { return calibration.figures(); }

  Calibration calibration;
};

TEST(Calibration, CountsWhichStartsWereInTime) {
  Master master;
  master.forecast("a", Time(), seconds(10), seconds(20));
  master.launch("a", Time() + seconds(10));
  master.forecast("b", Time(), seconds(10), seconds(20));
  master.launch("b", Time() + seconds(20));
  master.forecast("c", Time(), seconds(10), seconds(20));
  master.launch("c", Time() + seconds(21));
  master.launch("c", Time() + seconds(21));  // Nobody was told of this one.
  EXPECT_EQ(master.figures(), (proto::EtaFigures{.starts = 3, .below_p50 = 1, .below_p90 = 2}));
}

TEST(Calibration, TheFirstForecastOfAStartCounts) {
  Master master;
  master.forecast("a", Time(), seconds(10), seconds(20));
  master.forecast("a", Time() + seconds(60), seconds(60), seconds(90));
  master.launch("a", Time() + seconds(61));
  EXPECT_EQ(master.figures(), (proto::EtaFigures{.starts = 1}));
}

TEST(Calibration, TheLastTaskOfAnAskIsAPredictionOfItsOwn) {
  Master master;
  master.forecast("a", Time(), seconds(10), seconds(20), 3);
  for (const int64_t at : {5, 15, 39}) master.launch("a", Time() + seconds(at));
  EXPECT_EQ(master.figures(), (proto::EtaFigures{.starts = 2, .below_p50 = 1, .below_p90 = 2}));
}

TEST(Calibration, WhatStartsBeforeTheForecastIsThereWasNotTold) {
  Master master;
  master.calibration.begin(live({"a"}, 3));
  master.launch("a", Time() + seconds(1));
  master.correct("a", Time(), seconds(10), seconds(20), 3);
  master.launch("a", Time() + seconds(2));
  EXPECT_EQ(master.figures().starts, 0);
  master.launch("a", Time() + seconds(3));  // The last of the three.
  EXPECT_EQ(master.figures().starts, 1);
}

TEST(Calibration, AnAskThatIsWithdrawnIsForgotten) {
  Master master;
  master.forecast("a", Time(), seconds(10), seconds(20));
  EXPECT_EQ(master.calibration.predictions(), 1u);
  master.calibration.begin(live({"b"}));
  EXPECT_EQ(master.calibration.predictions(), 0u);
}

TEST(Calibration, ForecastsThatAreTooEarlyBecomeLater) {
  Master master;
  for (size_t i = 0; i < kRatiosLeast; ++i) {
    const std::string ask = text("a", i);
    EXPECT_EQ(*master.forecast(ask, Time(), seconds(9), seconds(19)).first.p90, seconds(19));
    master.launch(ask, Time() + seconds(59));  // Three times as late as p90 says.
  }
  const proto::AskForecast told = master.forecast("b", Time(), seconds(9), seconds(19));
  EXPECT_EQ(*told.first.p90, seconds(59));
  EXPECT_EQ(*told.first.p50, seconds(59));
}

TEST(Calibration, NineOfTenAreInTimeWhateverForecastsSay) {
  for (const int64_t tenths : {2, 10, 40}) {  // Forecasts say so many tenths of what is true.
    SCOPED_TRACE(tenths);
    Master master;
    Prng chance(static_cast<uint64_t>(tenths));
    Time now;
    for (int i = 0; i < 2'000; ++i) {
      const std::string ask = text("a", i);
      const Duration mean = seconds(chance.between(10, 600));
      master.forecast(ask, now, mean * tenths / 10, mean * tenths * 2 / 10);
      master.launch(ask, now + mean * chance.between(0, 2'000) / 1'000);
      now = now + seconds(1);
    }
    const proto::EtaFigures figures = master.figures();
    EXPECT_EQ(figures.starts, 2'000);
    EXPECT_NEAR(static_cast<double>(figures.below_p90) / 2'000, 0.9, 0.03);
    EXPECT_NEAR(static_cast<double>(figures.below_p50) / 2'000, 0.5, 0.05);
  }
}

// Else a forecast would learn of what comes late only when it has come.
TEST(Calibration, StartsThatAreLateCountBeforeTheyCome) {
  Master master;
  for (size_t i = 0; i < kRatiosLeast; ++i) {
    const std::string ask = text("a", i);
    master.forecast(ask, Time(), seconds(9), seconds(19));
    master.launch(ask, Time() + seconds(19));
  }
  std::vector<std::string> late;
  for (size_t i = 0; i < kRatiosLeast; ++i) late.push_back(text("late", i));
  for (const std::string& ask : late) {
    master.calibration.begin(live(late));
    master.correct(ask, Time(), seconds(9), seconds(19));
  }
  late.push_back("b");
  master.calibration.begin(live(late));
  const Time later = Time() + seconds(79);
  EXPECT_EQ(*master.correct("b", later, seconds(9), seconds(19)).first.p90, seconds(79));
}

TEST(Calibration, WhatLiesBeyondAForecastIsNotCounted) {
  Master master;
  master.calibration.begin(live({"a"}));
  proto::Forecast made;
  made.asks = {
      {.framework = kFramework, .ask = AskName("a"), .tasks = 1, .first = {seconds(1), {}}}};
  master.calibration.correct(made);
  EXPECT_EQ(made.asks.front().first.p90, std::nullopt);
  EXPECT_EQ(master.calibration.predictions(), 0u);
}

}  // namespace
}  // namespace proffer::master::calibration_test
