// Start forecasts on a real cluster, without and with known durations, by the three ways to ask. It
// checks that tasks start, not when.

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "proto/json/forecast_json.h"
#include "proto/json/history_json.h"
#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

using testing::HasSubstr;

proto::PendingPage pending(const Cluster& cluster) {
  const Exit exit = cluster.proffer({"tasks", "--pending", "--json"});
  EXPECT_EQ(exit.code, 0) << exit.err;
  const Result<proto::PendingPage> page = proto::parse_pending(exit.out);
  EXPECT_TRUE(page) << exit.out;
  return page ? *page : proto::PendingPage();
}

// Tasks of one kind. Each needs the whole cluster.
Words sort_that(const std::string& command) {
  return {"run", "--name=sort", "--cpus=2", "--mem=64", "--", command};
}

TEST(Eta, IsToldOnceTasksOfTheKindHaveEndedAndComesTrue) {
  Cluster cluster({.agents = 1, .resources = "cpus:2;mem:1024"});
  const TemporaryDirectory home;
  // Runs until its file exists, however long earlier tasks ran.
  const auto holds = [&](const std::string& name) {
    auto process =
        cluster.start(sort_that(text("until [ -e ", home / name, " ]; do sleep 0.05; done")));
    EXPECT_TRUE(eventually([&] { return cluster.running_tasks() == 1; }));
    return process;
  };

  const auto first = holds("first");
  const auto second = cluster.start(sort_that("true"));
  proto::PendingPage page;
  ASSERT_TRUE(eventually([&] {
    page = pending(cluster);
    return page.asks.size() == 1 && page.asks.front().no_eta == proto::NoEta::kNoDurations;
  })) << proto::pending_json(page);
  EXPECT_EQ(page.asks.front().unknown, "sort");
  EXPECT_EQ(page.asks.front().wanted, 1);
  const std::string name = page.asks.front().framework.str();
  EXPECT_THAT(cluster.proffer({"explain", "framework", name}).out,
              HasSubstr("no estimate: it may wait for tasks of framework 'sort' of unknown "
                        "duration: no task of their kind has ended yet"));
  write_file(home / "first", "");
  EXPECT_EQ(first->wait().code, 0);
  EXPECT_EQ(second->wait().code, 0);
  EXPECT_TRUE(pending(cluster).asks.empty());

  // A restarted master reads it from its history, which is written asynchronously.
  ASSERT_TRUE(eventually([&] {
    const Exit exit = cluster.proffer({"history", "--json"});
    const Result<proto::HistoryPage> history = proto::parse_history_page(exit.out);
    return history && history->tasks.size() == 2;
  }));
  const auto master = cluster.restart_master();
  const auto third = holds("third");
  const auto fourth = cluster.start(sort_that("true"));
  ASSERT_TRUE(eventually([&] {
    page = pending(cluster);
    return page.asks.size() == 1 && page.asks.front().eta.has_value();
  })) << proto::pending_json(page);
  const proto::Eta& eta = *page.asks.front().eta;
  ASSERT_TRUE(eta.p50 && eta.p90);
  EXPECT_LE(*eta.p50, *eta.p90);
  EXPECT_GE(eta.runs, 5);
  const std::string waiting = page.asks.front().framework.str();
  const Exit table = cluster.proffer({"tasks", "--pending"});
  EXPECT_THAT(table.out, HasSubstr("START P50"));
  EXPECT_THAT(table.out, HasSubstr(waiting));
  EXPECT_THAT(cluster.proffer({"explain", "framework", waiting}).out,
              HasSubstr(", in nine of ten cases within "));
  EXPECT_THAT(get_http(cluster.http(), "/v1/pending"), HasSubstr("\"p90_s\":"));
  EXPECT_THAT(get_http(cluster.http(), "/v1/explain?framework=" + waiting),
              HasSubstr("\"p90_s\":"));

  // On a slow machine the task may have run longer than all earlier ones; then there is no
  // forecast.
  page = pending(cluster);
  const bool is_predicted = page.asks.size() == 1 && page.asks.front().eta.has_value();
  write_file(home / "third", "");
  EXPECT_EQ(third->wait().code, 0);
  EXPECT_EQ(fourth->wait().code, 0);
  page = pending(cluster);
  EXPECT_TRUE(page.asks.empty());
  EXPECT_GE(page.calibration.starts, is_predicted ? 1 : 0);
  EXPECT_THAT(get_http(cluster.http(), "/metrics"),
              HasSubstr(text("proffer_forecast_starts_total ", page.calibration.starts)));
  const Exit both = cluster.proffer({"tasks", "--pending", "--all"});
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, HasSubstr("--all shows ended tasks, and --pending waiting asks"));
}

// The master finds no proffer-simulate beside it.
TEST(Eta, AForecastThatFailsIsToldAndDisturbsNothing) {
  Cluster cluster({.agents = 1, .resources = "cpus:2;mem:1024"});
  const TemporaryDirectory home;
  const TemporaryDirectory no_programs;
  ::kill(cluster.pid_of("master"), SIGKILL);
  cluster.dev().line_with("master");  // dev reports the process that ended
  const Process master({program("proffer-master"), "--data_dir=" + cluster.dir() + "/master",
                        "--socket=" + cluster.master(), "--heartbeat=1s"},
                       {{"PROFFER_BIN_DIR", no_programs / ""}});
  ASSERT_TRUE(eventually([&] { return cluster.proffer({"status"}).code == 0; }));
  const auto first =
      cluster.start(sort_that(text("until [ -e ", home / "end", " ]; do sleep 0.05; done")));
  ASSERT_TRUE(eventually([&] { return cluster.running_tasks() == 1; }));
  const auto second = cluster.start(sort_that("true"));
  proto::PendingPage page;
  ASSERT_TRUE(eventually([&] {
    page = pending(cluster);
    return page.asks.size() == 1 && page.asks.front().no_eta == proto::NoEta::kFailed;
  })) << proto::pending_json(page);
  const std::string name = page.asks.front().framework.str();
  EXPECT_THAT(cluster.proffer({"tasks", "--pending"}).out,
              HasSubstr("the last forecast failed; the master's log says why"));
  EXPECT_THAT(cluster.proffer({"explain", "framework", name}).out,
              HasSubstr("no estimate: the last forecast failed; the master's log says why"));
  EXPECT_THAT(get_http(cluster.http(), "/v1/explain?framework=" + name),
              HasSubstr("\"no_eta\":\"failed\""));
  write_file(home / "end", "");
  EXPECT_EQ(first->wait().code, 0);
  EXPECT_EQ(second->wait().code, 0);
  EXPECT_TRUE(is_alive(master.pid()));
}

}  // namespace
}  // namespace proffer::test
