// A task's secrets pass through its agent, and are not in its records.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/slave/agent_scenario.h"

namespace proffer::agent::secrets_test {
namespace {

using proto::TaskState;
using scenario::AgentScenario;
using scenario::command_task;
using Lines = std::vector<std::string>;

const std::string kValue = "correct horse battery staple";

proto::RunTask task_with_secret(const std::string& id, const std::string& file = "") {
  proto::RunTask run = command_task(id);
  run.spec.secrets = {{.name = "db", .variable = "DB", .file = file}};
  run.secrets = {{.name = "db", .value = kValue}};
  return run;
}

TEST(Secrets, ReachTheExecutor) {
  AgentScenario s;
  s.registered();
  s.run(task_with_secret("t1"));
  EXPECT_FALSE(s.take<StartExecutor>().at(0).has_secret_files);
  s.hello("t1");
  const auto told = s.told_executors<proto::RunTask>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].secrets, (std::vector<proto::SecretValue>{{"db", kValue}}));
}

TEST(Secrets, AsFilesAskForADirectoryInMemory) {
  AgentScenario s;
  s.registered();
  s.run(task_with_secret("t1", "db.txt"));
  EXPECT_TRUE(s.take<StartExecutor>().at(0).has_secret_files);
}

// The executor's connection was lost before or after it received the task.
TEST(Secrets, AreToldAgainUntilTheTaskIsStarted) {
  AgentScenario s;
  s.registered();
  s.run(task_with_secret("t1"));
  s.hello("t1");
  s.told_executors<proto::RunTask>();
  const PeerId again = s.hello_again("t1");
  EXPECT_EQ(s.told_executors<proto::RunTask>().at(0).secrets.size(), 1u);
  s.tell(again, "t1", TaskState::kRunning, 1);
  s.hello_again("t1");
  EXPECT_TRUE(s.told_executors<proto::RunTask>().at(0).secrets.empty());
}

TEST(Secrets, ALaunchWithoutAValueIsRefused) {
  AgentScenario s;
  s.registered();
  proto::RunTask run = task_with_secret("t1");
  run.secrets.clear();
  s.run(run);
  EXPECT_EQ(s.updates(), (Lines{"t1 1 refused task_invalid"}));
  EXPECT_TRUE(s.take<StartExecutor>().empty());
}

// A used process may leak another task's memory, or keep this one's.
TEST(Secrets, ATaskWithThemHasAFreshProcess) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  s.take<StartExecutor>();
  s.from_executor(
      peer, proto::ExecutorUpdate{
                .status = {.task = TaskId("t1"), .state = TaskState::kFinished, .sequence = 2},
                .takes_another = true});
  s.run(task_with_secret("t2"));
  EXPECT_FALSE(s.take<StartExecutor>().at(0).spare);
  s.run(command_task("t3"));
  EXPECT_TRUE(s.take<StartExecutor>().back().spare);
}

// A killed agent forgets values that it had not handed over: the executor gets the task without the
// value, and refuses it if it does not know it yet.
TEST(Secrets, AreForgottenByARestart) {
  AgentScenario s;
  s.registered();
  s.run(task_with_secret("t1"));
  s.hello("t1");
  s.crash_and_restart();
  s.tick();
  s.comes_back("t1");
  const auto told = s.told_executors<proto::RunTask>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].secrets.empty());
  EXPECT_EQ(told[0].spec.secrets.size(), 1u);
}

}  // namespace
}  // namespace proffer::agent::secrets_test
