// Whose figures are taken for an instance's.

#include "cli/service_autoscale.h"

#include <gtest/gtest.h>

#include "cli/service_client.h"

namespace proffer::cli::service_autoscale_test {
namespace {

TEST(Figures, AreOfTheExecutorOfTheSchedulersOwnTask) {
  const proto::TaskRow row{.framework = FrameworkId("service-1-1"), .task = TaskId("web.1.0-a")};
  const std::map<TaskId, const proto::TaskRow*> tasks{{row.task, &row}};
  proto::AgentExecutorRow executor{
      .framework = row.framework, .executor = ExecutorId("web.1.0-a"), .tasks = 1};
  EXPECT_EQ(task_of(executor, tasks), &row);
  executor.framework = FrameworkId("batch-1-2");
  EXPECT_EQ(task_of(executor, tasks), nullptr);
  executor.framework = row.framework;
  executor.tasks = 2;
  EXPECT_EQ(task_of(executor, tasks), nullptr);
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
  EXPECT_EQ(framework_named(rows, "serv").error().code(), ErrorCode::kNotFound);
  rows[2].name = "service";
  EXPECT_EQ(framework_named(rows, "service").error().code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace proffer::cli::service_autoscale_test
