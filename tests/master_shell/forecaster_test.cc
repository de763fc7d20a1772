// Forecasts whose child process fails, hangs, or prints an invalid forecast: a real core with an
// ask, and real children, which are scripts instead of proffer-simulate.

#include "master/shell/forecaster.h"

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "master/core/trace.h"
#include "proto/json/forecast_json.h"
#include "tests/master/cluster.h"
#include "tests/net/support.h"
#include "tests/store/support.h"

namespace proffer::master::forecaster_test {
namespace {

namespace fs = std::filesystem;
using proto::NoEta;
using store_test::TemporaryDirectory;

class ForecasterOf : public testing::Test {
 protected:
  // One ask waits for an agent that is in use.
  ForecasterOf() : scheduler_(&cluster_.subscribed("sort")) {
    cluster_.registered_agent("a1", "cpus:1;mem:64");
    scheduler_->asks("cpus:1;mem:64", 2, "map");
    cluster_.settle();
    setenv("PROFFER_BIN_DIR", (programs_ / "").c_str(), 1);
  }
  ~ForecasterOf() override { unsetenv("PROFFER_BIN_DIR"); }

  void start(ForecasterOptions options = {}) {
    options.directory = programs_ / "forecast";
    options.every = milliseconds(1);
    forecaster_.reset();  // only one at a time may handle the signal
    forecaster_ = std::make_unique<Forecaster>(loop_, *cluster_.master, nullptr, options);
  }
  // Writes a script that replaces proffer-simulate.
  void program(const std::string& script) {
    const std::string path = programs_ / "proffer-simulate";
    store_test::write_file(path, "#!/bin/sh\n" + script + "\n");
    fs::permissions(path, fs::perms::owner_all);
  }
  // The ask's row with its forecast.
  proto::PendingRow told() const {
    std::vector<proto::PendingRow> rows = {
        {.framework = scheduler_->id, .ask = AskName("map"), .wanted = 2}};
    forecaster_->tell(rows);
    return rows.front();
  }
  // Requests a forecast, waits until it is there or has failed, and returns the ask's row.
  proto::PendingRow after_forecast() {
    const auto ended = [&] { return forecaster_->figures().made + forecaster_->figures().failed; };
    const uint64_t before = ended();
    forecaster_->ask();
    EXPECT_TRUE(net_test::run_until(loop_, [&] { return ended() > before; }));
    return told();
  }
  // The output of a child for a forecast of the current time.
  std::string answer() const {
    return proto::forecast_json({.as_of = loop_.now(),
                                 .runs = 20,
                                 .reaches = hours(24),
                                 .asks = {{.framework = scheduler_->id,
                                           .ask = AskName("map"),
                                           .tasks = 2,
                                           .first = {minutes(50), minutes(90)},
                                           .last = {minutes(60), minutes(100)}}}});
  }

  const TemporaryDirectory programs_;
  MasterScenario cluster_;
  TestScheduler* const scheduler_;
  Loop loop_;
  std::unique_ptr<Forecaster> forecaster_;
};

TEST_F(ForecasterOf, AChildThatAnswersIsTold) {
  program("cat <<'END'\n" + answer() + "\nEND");
  start();
  EXPECT_EQ(told().no_eta, NoEta::kNotYet);
  const proto::PendingRow row = after_forecast();
  ASSERT_TRUE(row.eta.has_value());
  EXPECT_EQ(row.eta->runs, 20);
  EXPECT_GT(*row.eta->p50, minutes(40));
  EXPECT_EQ(forecaster_->figures().failed, 0u);
}

// Children report times in milliseconds: an ask declared in the same millisecond must not be taken
// for a later one.
TEST_F(ForecasterOf, ATaskThatWasWantedJustBeforeTheForecastIsPredicted) {
  proto::Forecast made{.as_of = Time() + seconds(1), .runs = 20, .reaches = hours(24)};
  made.asks = {{.framework = scheduler_->id,
                .ask = AskName("map"),
                .tasks = 2,
                .first = {minutes(50), minutes(90)},
                .last = {minutes(60), minutes(100)}}};
  program("cat <<'END'\n" + proto::forecast_json(made) + "\nEND");
  start();
  const Time before = loop_.now();
  const proto::PendingRow row = after_forecast();
  ASSERT_TRUE(row.eta.has_value());
  EXPECT_GE(row.eta->as_of, before);
  forecaster_->hear({TaskLaunched{scheduler_->id, TaskId("t1"), AgentId("a1"), "", AskName("map"),
                                  row.eta->as_of}},
                    {});
  EXPECT_EQ(forecaster_->calibration().starts, 1);
}

TEST_F(ForecasterOf, AProgramThatIsNotInstalledIsAFailure) {
  start();
  EXPECT_EQ(after_forecast().no_eta, NoEta::kFailed);
}

TEST_F(ForecasterOf, WhatIsNoForecastIsAFailure) {
  const std::string good = answer();
  const std::string scripts[] = {
      "exit 0",
      "exit 3",
      "kill -9 $$",
      "echo out of luck; exit 1",
      "echo hello",
      "echo '{}'",
      "echo '[1]'",
      "head -c 100000 /dev/urandom",
      "head -c 100000 /dev/zero | tr '\\0' '['",
      "echo '" + good.substr(0, good.size() / 2) + "'",
      "echo '" + good + "'; exit 1",
      "echo '" + good + "'; echo more",
  };
  for (const std::string& script : scripts) {
    SCOPED_TRACE(script);
    program(script);
    start();
    EXPECT_EQ(after_forecast().no_eta, NoEta::kFailed);
    EXPECT_EQ(forecaster_->figures().failed, 1u);
  }
}

// The kernel ends the child by its output limit, so nothing fills the disk.
TEST_F(ForecasterOf, AChildThatSaysTooMuchIsAFailure) {
  program("exec cat /dev/zero");
  start();
  EXPECT_EQ(after_forecast().no_eta, NoEta::kFailed);
  EXPECT_LE(fs::file_size(programs_ / "forecast/answer"), kForecastAnswerMax);
}

TEST_F(ForecasterOf, AChildThatHangsIsKilledThoughNobodyAsksAgain) {
  program("exec sleep 1000");
  start({.time_max = milliseconds(50)});
  EXPECT_EQ(after_forecast().no_eta, NoEta::kFailed);
}

TEST_F(ForecasterOf, AFailureIsForgottenWithTheNextForecast) {
  program("exit 1");
  start();
  EXPECT_EQ(after_forecast().no_eta, NoEta::kFailed);
  program("cat <<'END'\n" + answer() + "\nEND");
  // Not at once: after a failure, the next forecast waits for a while.
  const auto ask = [&] {
    forecaster_->ask();
    return forecaster_->figures().made == 1;
  };
  EXPECT_TRUE(net_test::run_until(loop_, ask));
  EXPECT_TRUE(told().eta.has_value());
}

TEST_F(ForecasterOf, AForecastIsToldWhileTheNextOneFails) {
  program("cat <<'END'\n" + answer() + "\nEND");
  start();
  EXPECT_TRUE(after_forecast().eta.has_value());
  program("exit 1");
  const auto ask = [&] {
    forecaster_->ask();
    return forecaster_->figures().failed == 1;
  };
  EXPECT_TRUE(net_test::run_until(loop_, ask));
  EXPECT_TRUE(told().eta.has_value());
}

// A snapshot of this size would block the master, so no child is started.
TEST_F(ForecasterOf, AClusterThatIsTooLargeHasNone) {
  program("cat <<'END'\n" + answer() + "\nEND");
  start({.agents_max = 1});
  cluster_.registered_agent("a2", "cpus:1;mem:64");
  forecaster_->ask();
  EXPECT_EQ(told().no_eta, NoEta::kTooLarge);
  EXPECT_FALSE(fs::exists(programs_ / "forecast"));
  start({.frameworks_max = 0});
  forecaster_->ask();
  EXPECT_EQ(told().no_eta, NoEta::kTooLarge);
  EXPECT_FALSE(fs::exists(programs_ / "forecast"));
  start({.agents_max = 2});
  EXPECT_TRUE(after_forecast().eta.has_value());
}

// The tasks ended while another master led.
TEST_F(ForecasterOf, AHistoryThatCannotBeReadAtFirstIsReadAgain) {
  const HistoryOptions options{.log = {.directory = programs_ / "history"},
                               .leader = LeaderEpoch(1)};
  {
    proto::EndedTask ended{.framework = FrameworkId("sort-1"), .framework_name = "sort"};
    ended.launched_at = Time() + seconds(1);
    ended.status = {.task = TaskId("t1"), .state = proto::TaskState::kFinished};
    ended.status.at = Time() + seconds(9);
    History before(loop_, options);
    before.finish({ended});
  }
  History history(loop_, options);
  // Other readers use up the limit of concurrent reads.
  for (int i = 0; i < 100; ++i) {
    history.read({}, [](const Result<History::Found>&) {});
  }
  Forecaster forecaster(loop_, *cluster_.master, &history,
                        {.directory = programs_ / "forecast", .history_retry = milliseconds(50)});
  EXPECT_TRUE(net_test::run_until(loop_, [&] { return forecaster.kinds() > 0; }));
}

// A task that ends while the history cannot be read is both reported directly and written to the
// history.
TEST_F(ForecasterOf, ATaskThatEndsBeforeTheHistoryIsReadCountsOnce) {
  const auto ended_after = [](const char* framework, Duration ran) {
    proto::EndedTask ended{.framework = FrameworkId("sort-1"), .framework_name = framework};
    ended.launched_at = Time() + seconds(1);
    ended.status = {.task = TaskId("t1"), .state = proto::TaskState::kFinished};
    ended.status.at = ended.launched_at + ran;
    return ended;
  };
  const HistoryOptions options{.log = {.directory = programs_ / "history"},
                               .leader = LeaderEpoch(1),
                               .delay = milliseconds(1)};
  History(loop_, options).finish({ended_after("before", seconds(8))});
  History history(loop_, options);
  for (int i = 0; i < 100; ++i) {
    history.read({}, [](const Result<History::Found>&) {});
  }
  Forecaster forecaster(loop_, *cluster_.master, &history,
                        {.directory = programs_ / "forecast", .history_retry = milliseconds(50)});
  const uint64_t written = history.written();
  forecaster.hear({}, {ended_after("now", seconds(8))});
  history.add({ended_after("now", seconds(8))});
  EXPECT_TRUE(net_test::run_until(loop_, [&] { return history.written() > written; }));
  // The framework, the role and the kind of each task.
  EXPECT_TRUE(net_test::run_until(loop_, [&] { return forecaster.kinds() >= 5; }));
  proto::LiveSnapshot live;
  live.frameworks = {{.framework = FrameworkId("f-1"), .name = "before"},
                     {.framework = FrameworkId("f-2"), .name = "now"}};
  std::map<std::string, size_t> known;
  for (const proto::KindDurations& row : forecaster.durations().used_by(live)) {
    if (!row.framework.empty()) known[row.framework] += row.ran.size();
  }
  EXPECT_EQ(known, (std::map<std::string, size_t>{{"before", 1}, {"now", 1}}));
}

}  // namespace
}  // namespace proffer::master::forecaster_test
