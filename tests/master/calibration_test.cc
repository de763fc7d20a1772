// Forecasts are compared with actual starts, which correct later forecasts.

#include "master/forecast/calibration.h"

#include <map>
#include <set>

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
  // The corrected forecast of the ask at `now`, if a simulation predicts these times.
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
  void launch(const std::string& ask, Time now, Time asked_at = Time()) {
    calibration.launched(kFramework, AskName(ask), asked_at, now);
  }
  // Feeds starts that took `times` times as long as forecast.
  void learn(size_t starts, int64_t times) {
    for (size_t i = 0; i < starts; ++i) {
      const std::string ask = text("learn", i);
      forecast(ask, Time(), seconds(9), seconds(9));
      launch(ask, Time() + seconds(10 * times - 1));
    }
  }
  proto::EtaFigures figures() const { return calibration.figures(); }

  Calibration calibration;
};

// The median and the 90th percentile of ten ratios that are distributed like 1/x.
TEST(Calibration, WhereNothingIsKnownTimesAreWide) {
  Master master;
  const proto::AskForecast told = master.forecast("a", Time(), seconds(9), seconds(19));
  EXPECT_EQ(*told.first.p50, milliseconds(20'452));
  EXPECT_EQ(*told.first.p90, milliseconds(154'984));
}

TEST(Calibration, TimesBecomeTighterWithEachStartThatIsAsWasForecast) {
  Master master;
  Duration before = kDurationMax;
  for (const size_t starts : {size_t{0}, size_t{10}, size_t{20}, kRatiosKept}) {
    master.learn(starts, 1);
    const Duration p90 = *master.forecast("b", Time(), seconds(99), seconds(99)).first.p90;
    EXPECT_LT(p90, before);
    before = p90;
  }
  EXPECT_EQ(before, seconds(99));
}

TEST(Calibration, CountsWhichStartsWereInTime) {
  Master master;
  const Duration p50 = *master.forecast("a", Time(), seconds(9), seconds(19)).first.p50;
  master.launch("a", Time() + p50);
  const Duration p90 = *master.forecast("b", Time(), seconds(9), seconds(19)).first.p90;
  master.launch("b", Time() + p90);
  const Duration before = *master.forecast("c", Time(), seconds(9), seconds(19)).first.p90;
  master.launch("c", Time() + before + seconds(1));
  master.launch("c", Time() + before + seconds(1));  // without a forecast
  EXPECT_EQ(master.figures(), (proto::EtaFigures{.starts = 3, .below_p50 = 1, .below_p90 = 2}));
}

TEST(Calibration, TheFirstForecastOfAStartCounts) {
  Master master;
  const Duration p90 = *master.forecast("a", Time(), seconds(9), seconds(19)).first.p90;
  master.forecast("a", Time() + seconds(60), seconds(1'000), seconds(2'000));
  master.launch("a", Time() + p90 + seconds(1));
  EXPECT_EQ(master.figures(), (proto::EtaFigures{.starts = 1}));
}

TEST(Calibration, TheLastTaskOfAnAskIsAPredictionOfItsOwn) {
  Master master;
  const proto::AskForecast told = master.forecast("a", Time(), seconds(10), seconds(20), 3);
  master.launch("a", Time() + *told.first.p50);
  master.launch("a", Time() + *told.first.p50);
  EXPECT_EQ(master.figures(), (proto::EtaFigures{.starts = 1, .below_p50 = 1, .below_p90 = 1}));
  master.launch("a", Time() + *told.last.p90);
  EXPECT_EQ(master.figures(), (proto::EtaFigures{.starts = 2, .below_p50 = 1, .below_p90 = 2}));
}

TEST(Calibration, WhatStartsBeforeTheForecastIsThereWasNotTold) {
  Master master;
  master.calibration.begin(live({"a"}, 3));
  master.launch("a", Time() + seconds(1));
  master.correct("a", Time(), seconds(10), seconds(20), 3);
  master.launch("a", Time() + seconds(2));
  EXPECT_EQ(master.figures().starts, 0);
  master.launch("a", Time() + seconds(3));  // the last of the three tasks
  EXPECT_EQ(master.figures().starts, 1);
}

TEST(Calibration, AnAskThatIsWithdrawnIsForgotten) {
  Master master;
  master.forecast("a", Time(), seconds(10), seconds(20));
  EXPECT_EQ(master.calibration.predictions(), 1u);
  master.calibration.begin(live({"b"}));
  EXPECT_EQ(master.calibration.predictions(), 0u);
}

// Without queries, there is no snapshot from the time when the old ask was gone.
TEST(Calibration, AnAskOfTheSameNameThatCameLaterIsAnother) {
  Master master;
  master.forecast("a", Time(), seconds(10), seconds(20), 2);
  EXPECT_EQ(master.calibration.predictions(), 2u);
  master.launch("a", Time() + seconds(70), Time() + seconds(60));
  EXPECT_EQ(master.calibration.predictions(), 0u);
  EXPECT_EQ(master.figures(), proto::EtaFigures());
}

TEST(Calibration, ALastTaskThatIsWantedNoLongerIsForgotten) {
  Master master;
  master.forecast("a", Time(), seconds(10), seconds(20), 40);
  EXPECT_EQ(master.calibration.predictions(), 2u);
  master.calibration.begin(live({"a"}, 3));
  EXPECT_EQ(master.calibration.predictions(), 1u);
}

TEST(Calibration, ForecastsThatAreTooEarlyBecomeLater) {
  Master master;
  master.learn(kRatiosKept, 3);
  const proto::AskForecast told = master.forecast("b", Time(), seconds(9), seconds(19));
  // Three times as late: (29 s + 5 s) / (9 s + 5 s), rounded down to thousandths.
  EXPECT_EQ(*told.first.p50, milliseconds(28'992));
  EXPECT_EQ(*told.first.p90, milliseconds(53'272));
}

TEST(Calibration, NineOfTenAreInTimeWhateverForecastsSay) {
  for (const int64_t tenths : {2, 10, 40}) {  // Forecasts are this many tenths of the actual times.
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

// A few hundred asks wait, more arrive each minute, and starts take up to half an hour: the starts
// so far were quicker than most later ones will be.
TEST(Calibration, NineOfTenAreInTimeWhileMostStartsAreStillToCome) {
  Master master;
  Prng chance(3);
  std::multimap<Time, std::string> starts;
  std::set<std::string> open;
  for (int minute = 0; minute < 60; ++minute) {
    const Time now = Time() + minutes(minute);
    while (!starts.empty() && starts.begin()->first <= now) {
      master.launch(starts.begin()->second, starts.begin()->first);
      open.erase(starts.begin()->second);
      starts.erase(starts.begin());
    }
    for (int i = 0; i < 20; ++i) {
      const std::string ask = text("a", minute, "-", i);
      open.insert(ask);
      starts.emplace(now + seconds(chance.between(1, 1'800)), ask);
    }
    master.calibration.begin(live({open.begin(), open.end()}));
    proto::Forecast made{.as_of = now, .runs = 20};
    for (const std::string& ask : open) {  // each forecast is five minutes
      made.asks.push_back({.framework = kFramework,
                           .ask = AskName(ask),
                           .tasks = 1,
                           .first = {minutes(5), minutes(5)}});
    }
    master.calibration.correct(made);
  }
  const proto::EtaFigures figures = master.figures();
  EXPECT_GE(figures.starts, 500);
  EXPECT_NEAR(static_cast<double>(figures.below_p90) / static_cast<double>(figures.starts), 0.9,
              0.05);
}

// Otherwise a forecast would learn from late starts only when they happen.
TEST(Calibration, StartsThatAreLateCountBeforeTheyCome) {
  Master master;
  master.learn(kRatiosKept, 1);
  std::vector<std::string> late;
  for (size_t i = 0; i < 50; ++i) late.push_back(text("late", i));
  for (const std::string& ask : late) {
    master.calibration.begin(live(late));
    master.correct(ask, Time(), seconds(9), seconds(19));
  }
  late.push_back("b");
  master.calibration.begin(live(late));
  const Time later = Time() + seconds(79);
  EXPECT_GE(*master.correct("b", later, seconds(9), seconds(19)).first.p90, seconds(79));
}

// 40 asks of other frameworks in the role of "mine", which do not start for an hour.
struct Others {
  size_t frameworks = 0;  // frameworks that have these asks
  bool decline = false;   // they decline their offers
};

// The p90 of "mine" after that hour.
Duration p90_beside(const Others& others) {
  Master master;
  master.learn(60, 1);
  proto::LiveSnapshot all = live({"mine"});
  proto::Forecast made{.as_of = Time(), .runs = 20};
  for (size_t i = 0; i < others.frameworks; ++i) {
    const FrameworkId id(text("other-", i));
    all.frameworks.push_back({.framework = id, .name = "other", .role = RoleName("eng")});
    for (size_t of_it = 0; of_it < 40 / others.frameworks; ++of_it) {
      const AskName ask(text("ask", of_it));
      all.asks.push_back({id, {.name = ask, .count = 1}});
      made.asks.push_back(
          {.framework = id, .ask = ask, .tasks = 1, .first = {seconds(9), seconds(19)}});
    }
  }
  master.calibration.begin(all);
  master.calibration.correct(made);
  if (others.decline) {
    for (const proto::AskForecast& row : made.asks) {
      for (const int64_t at : {1, 600}) {
        master.calibration.declined(row.framework, row.ask, Time() + seconds(at));
      }
    }
  }
  master.calibration.begin(all);
  return *master.correct("mine", Time() + hours(1), seconds(9), seconds(19)).first.p90;
}

TEST(StartsBesideOthers, AreLateIfManyFrameworksStartLate) {
  EXPECT_GT(p90_beside({.frameworks = 40}), p90_beside({}) * 2);
}

TEST(StartsBesideOthers, AreNotLateBecauseOthersDeclineWhatTheyAreOffered) {
  EXPECT_LE(p90_beside({.frameworks = 40, .decline = true}), p90_beside({}) * 2);
}

// A framework that never answers offers, or whose ask is possible in the simulation but not in the
// master.
TEST(StartsBesideOthers, AreNotLateBecauseAFrameworkStartsNothing) {
  EXPECT_LE(p90_beside({.frameworks = 1}), p90_beside({}) * 2);
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
