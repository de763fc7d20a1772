// The snapshot that is simulated to plan an update.

#include "cli/service_forecast.h"

#include <gtest/gtest.h>

namespace proffer::cli::service_forecast_test {
namespace {

proto::LiveTask task(const std::string& framework, const std::string& id, const std::string& ask) {
  return {.framework = FrameworkId(framework), .task = TaskId(id), .ask = AskName(ask)};
}

proto::LiveAsk ask(const std::string& framework, const std::string& name, int64_t count) {
  proto::LiveAsk made{.framework = FrameworkId(framework)};
  made.ask.name = AskName(name);
  made.ask.count = count;
  return made;
}

proto::LiveSnapshot cluster() {
  return {.frameworks = {{.framework = FrameworkId("service-1-1"), .name = "service"},
                         {.framework = FrameworkId("batch-1-2"), .name = "batch"}},
          .asks = {ask("service-1-1", "web.2", 1), ask("service-1-1", "web.old.7", 5),
                   ask("batch-1-2", "web.2", 3)},
          .tasks = {task("service-1-1", "web.1.0-aan1", "web.1"),
                    task("service-1-1", "web.2.1-aan2", "web.2"),
                    task("service-1-1", "web.old.7.0-aan3", "web.old.7"),
                    task("batch-1-2", "web.1.0-x", "web.1")}};
}

proto::ServicePlan plan(const std::string& app, const std::string& version, int64_t instances) {
  return {.app = app, .wants = {ask("", app + "." + version, instances)}};
}

std::vector<std::string> asks_of(const proto::LiveSnapshot& live) {
  std::vector<std::string> all;
  for (const proto::LiveAsk& one : live.asks) {
    all.push_back(one.framework.str() + " " + one.ask.name.str() + " " +
                  std::to_string(one.ask.count));
  }
  return all;
}
std::vector<std::string> tasks_of(const proto::LiveSnapshot& live) {
  std::vector<std::string> all;
  for (const proto::LiveTask& one : live.tasks) all.push_back(one.task.str());
  return all;
}
using Lines = std::vector<std::string>;

TEST(WithPlans, ReplacesInstancesOfOtherVersionsAndKeepsThoseOfThisOne) {
  const auto live = with_plans(cluster(), FrameworkId("service-1-1"), {plan("web", "2", 3)});
  ASSERT_TRUE(live) << live.error();
  EXPECT_EQ(tasks_of(*live), (Lines{"web.2.1-aan2", "web.old.7.0-aan3", "web.1.0-x"}));
  EXPECT_EQ(asks_of(*live),
            (Lines{"service-1-1 web.old.7 5", "batch-1-2 web.2 3", "service-1-1 web.2 2"}));
}

TEST(WithPlans, AsksForNothingIfAllIsThere) {
  const auto live = with_plans(cluster(), FrameworkId("service-1-1"), {plan("web", "2", 1)});
  ASSERT_TRUE(live) << live.error();
  EXPECT_EQ(asks_of(*live), (Lines{"service-1-1 web.old.7 5", "batch-1-2 web.2 3"}));
}

TEST(WithPlans, OfANewAppTakesNothingAway) {
  const auto live =
      with_plans(cluster(), FrameworkId("service-1-1"), {plan("db", "1", 1), {.app = "web"}});
  ASSERT_TRUE(live) << live.error();
  EXPECT_EQ(live->tasks, cluster().tasks);
  EXPECT_EQ(asks_of(*live).back(), "service-1-1 db.1 1");
  EXPECT_EQ(live->asks.size(), 4u);
}

TEST(WithPlans, NeedsTheFramework) {
  const auto live = with_plans(cluster(), FrameworkId("other"), {plan("web", "2", 3)});
  ASSERT_FALSE(live);
  EXPECT_EQ(live.error().message(), "there is no framework 'other'");
}

}  // namespace
}  // namespace proffer::cli::service_forecast_test
