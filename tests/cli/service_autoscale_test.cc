// Which tasks count as instances of an app.

#include "cli/service_autoscale.h"

#include <gtest/gtest.h>

#include "cli/service_client.h"

namespace proffer::cli::service_autoscale_test {
namespace {

TEST(Figures, AreOfTheExecutorOfTheSchedulersOwnTask) {
  const FrameworkId framework("service-1-1");
  proto::AgentExecutorRow executor{
      .framework = framework, .executor = ExecutorId("web.1.0-a"), .tasks = 1};
  EXPECT_EQ(task_of(executor, framework), TaskId("web.1.0-a"));
  executor.framework = FrameworkId("batch-1-2");
  EXPECT_EQ(task_of(executor, framework), std::nullopt);
  executor.framework = framework;
  executor.tasks = 2;
  EXPECT_EQ(task_of(executor, framework), std::nullopt);
}

TEST(Instances, AreAskedForByTheirFrameworkAndApp) {
  const FrameworkId framework("service-1-1");
  EXPECT_EQ(instances_query(framework, "web", true).prefix, "service-1-1/web.");
  EXPECT_TRUE(instances_query(framework, "web", true).ended);
  EXPECT_FALSE(instances_query(framework, "web", false).ended);

  const auto row = [](const char* of, const char* task) {
    return proto::TaskRow{.framework = FrameworkId(of), .task = TaskId(task)};
  };
  EXPECT_TRUE(is_instance_of(row("service-1-1", "web.1.0-a"), framework, "web"));
  // An app whose name begins with "web", and another framework.
  EXPECT_FALSE(is_instance_of(row("service-1-1", "web.api.1.0-a"), framework, "web"));
  EXPECT_FALSE(is_instance_of(row("service-1-10", "web.1.0-a"), framework, "web"));
  EXPECT_FALSE(is_instance_of(row("service-1-1", "web.old"), framework, "web"));
}

TEST(Turns, OfAppsThatDidNotAnswerComeLast) {
  std::vector<AskingTurn> turns = {{.name = "slow/0", .number = 0, .was_silent = true},
                                   {.name = "slow/1", .number = 1, .was_silent = true},
                                   {.name = "large/0", .number = 0},
                                   {.name = "large/1", .number = 1},
                                   {.name = "small/0", .number = 0}};
  sort_turns(turns);
  std::vector<std::string> names;
  for (const AskingTurn& turn : turns) names.push_back(turn.name);
  EXPECT_EQ(names, (std::vector<std::string>{"large/0", "small/0", "large/1", "slow/0", "slow/1"}));
}

TEST(Framework, IsMeantByItsIdOrByItsNameIfOneOfThatNameIsConnected) {
  std::vector<proto::FrameworkRow> rows(3);
  rows[0] = {.framework = FrameworkId("service-1-1"),
             .name = "service",
             .state = proto::FrameworkState::kDisconnected};
  rows[1] = {.framework = FrameworkId("service-1-2"), .name = "service"};
  rows[2] = {.framework = FrameworkId("batch-1-3"), .name = "batch"};
  EXPECT_EQ(framework_named(rows, "service")->str(), "service-1-2");
  EXPECT_EQ(framework_named(rows, "service-1-1")->str(), "service-1-1");
  EXPECT_EQ(framework_named(rows, "serv").error().code(), ErrorCode::kUnavailable);
  rows[2].name = "service";
  EXPECT_EQ(framework_named(rows, "service").error().code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace proffer::cli::service_autoscale_test
