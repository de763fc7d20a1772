// Kills of a task, of a framework's tasks, or of all tasks.

#include "tests/slave/agent_scenario.h"

namespace proffer::agent::kill_test {
namespace {

using proto::TaskState;
using scenario::AgentScenario;
using scenario::command_task;
using scenario::kBatch;
using Lines = std::vector<std::string>;

TEST(Kill, ATaskThatNoExecutorWasGivenEndsAtOnce) {
  AgentScenario s;
  s.registered();
  s.run(command_task("t1"));
  s.kill("t1");
  EXPECT_EQ(s.updates(), (Lines{"t1 1 killed killed_by_scheduler"}));
  EXPECT_EQ(s.take<KillExecutor>().size(), 1u);
  s.exits("t1");
  EXPECT_TRUE(s.updates().empty());
}

TEST(Kill, IsForwardedWithItsGraceOrTheTasksOwn) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  s.updates();
  s.kill("t1");
  EXPECT_EQ(s.told_executors<proto::KillTask>().at(0).grace, kKillGrace);
  s.kill("t1", seconds(1));
  EXPECT_EQ(s.told_executors<proto::KillTask>().at(0).grace, seconds(1));
  s.tell(peer, "t1", TaskState::kKilled, 2);
  EXPECT_EQ(s.updates(), (Lines{"t1 2 killed killed_by_scheduler"}));
}

TEST(Kill, AnExecutorThatDoesNotEndItsTaskIsKilledAfterGraceAndMargin) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.updates();
  s.kill("t1", seconds(2));
  s.pass(seconds(6));
  EXPECT_TRUE(s.take<KillExecutor>().empty());
  s.pass(seconds(2));
  EXPECT_EQ(s.take<KillExecutor>().size(), 1u);
  s.exits("t1");
  EXPECT_EQ(s.updates(), (Lines{"t1 2 killed killed_by_scheduler"}));
}

TEST(Kill, OfAnUnknownTaskIsAnsweredThatItIsNotKnown) {
  AgentScenario s;
  s.registered();
  s.kill("nobody");
  EXPECT_EQ(s.updates(), (Lines{"nobody 0 lost task_unknown"}));
}

TEST(Kill, OfATaskThatEndedSaysNothingNew) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  s.tell(peer, "t1", TaskState::kFinished, 2);
  s.updates();
  s.kill("t1");
  EXPECT_TRUE(s.updates().empty());
}

TEST(Kill, OfATaskThatWaitsForAnOldExecutorDoesNotTouchThat) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  s.tell(peer, "t1", TaskState::kFinished, 2);
  s.acknowledge("t1", 2);
  s.run(command_task("t1"));
  s.updates();
  s.kill("t1");
  EXPECT_EQ(s.updates(), (Lines{"t1 1 killed killed_by_scheduler"}));
  s.take<StartExecutor>();
  s.exits("t1");
  EXPECT_TRUE(s.take<StartExecutor>().empty());
}

proto::RunTask bounded(const std::string& id, Duration most) {
  proto::RunTask run = command_task(id);
  run.spec.max_run_time = most;
  return run;
}

// A command that stops its executor at once is never reported as running.
TEST(MaxRunTime, EndsATaskThatIsNeverReportedAsRunning) {
  AgentScenario s;
  s.registered();
  s.run(bounded("t1", seconds(3)));
  s.hello("t1");
  s.pass(seconds(12));
  EXPECT_TRUE(s.told_executors<proto::KillTask>().empty());
  s.pass(seconds(1));
  EXPECT_EQ(s.told_executors<proto::KillTask>().size(), 1u);
  s.pass(kKillGrace + seconds(5));
  EXPECT_EQ(s.take<KillExecutor>().size(), 1u);
}

TEST(MaxRunTime, KillsATaskSoLongAfterItsStart) {
  AgentScenario s;
  s.registered();
  s.run(bounded("t1", seconds(3)));
  const PeerId peer = s.hello("t1");
  s.pass(seconds(4));  // the limit does not count before the task runs
  s.tell(peer, "t1", TaskState::kRunning, 1);
  s.pass(seconds(2));
  s.tell(peer, "t1", TaskState::kRunning, 2);  // an update of the task, not another start
  EXPECT_TRUE(s.told_executors<proto::KillTask>().empty());
  s.pass(seconds(1));
  EXPECT_EQ(s.told_executors<proto::KillTask>().at(0).grace, kKillGrace);
  s.updates();
  s.from_executor(peer, proto::ExecutorUpdate{{.task = TaskId("t1"),
                                               .state = TaskState::kKilled,
                                               .sequence = 3,
                                               .message = "ended by signal 15"}});
  const std::vector<proto::Update> told = s.told_master<proto::Update>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(AgentScenario::line_of(told[0].status), "t1 3 killed ran_too_long");
  EXPECT_EQ(told[0].status.message, "it ran for 3s, its maximum run time: ended by signal 15");
}

TEST(MaxRunTime, GoesOnOverARestartOfTheAgent) {
  for (const bool compact : {false, true}) {
    for (const bool acknowledged : {false, true}) {
      AgentScenario s;
      s.registered();
      s.run(bounded("t1", seconds(5)));
      s.tell(s.hello("t1"), "t1", TaskState::kRunning, 1);
      if (acknowledged) s.acknowledge("t1", 1);
      s.now = s.now + seconds(4);
      s.restart(compact ? s.core->snapshot() : AgentSnapshot{s.log});
      s.tick();
      s.connect();
      s.comes_back("t1");
      EXPECT_TRUE(s.told_executors<proto::KillTask>().empty());
      s.pass(seconds(1));
      EXPECT_EQ(s.told_executors<proto::KillTask>().size(), 1u);
    }
  }
}

TEST(MaxRunTime, OfATaskThatEndedInTimeIsOver) {
  AgentScenario s;
  s.registered();
  s.run(bounded("t1", seconds(3)));
  const PeerId peer = s.hello("t1");
  s.tell(peer, "t1", TaskState::kRunning, 1);
  s.tell(peer, "t1", TaskState::kFinished, 2);
  s.updates();
  s.pass(seconds(4));
  EXPECT_TRUE(s.told_executors<proto::KillTask>().empty());
  EXPECT_TRUE(s.updates().empty());
}

TEST(ShutdownFramework, EndsItsTasksAndExecutorsAndNobodyElses) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  proto::RunTask shared = command_task("m1");
  shared.spec.executor = proto::kBatchExecutor;
  shared.spec.executor_id = ExecutorId("workers");
  s.run(shared);
  const PeerId workers = s.hello("workers");
  s.tell(workers, "m1", TaskState::kRunning, 1);
  proto::RunTask other = command_task("o1");
  other.framework = FrameworkId("other-1-1");
  s.run(other);
  s.updates();

  s.from_master(proto::ShutdownFramework{kBatch});
  EXPECT_EQ(s.told_executors<proto::KillTask>().size(), 2u);
  EXPECT_EQ(s.told_executors<proto::ExecutorShutdown>().size(), 1u);
  s.tell(peer, "t1", TaskState::kKilled, 2);
  s.tell(workers, "m1", TaskState::kKilled, 2);
  EXPECT_EQ(s.updates(),
            (Lines{"t1 2 killed framework_torn_down", "m1 2 killed framework_torn_down"}));
  s.exits("t1");
  s.pass(seconds(11));
  EXPECT_EQ(s.take<KillExecutor>().size(), 1u);  // the shared executor, which did not leave
  s.exits("workers");
  EXPECT_EQ(s.core->status().executors.size(), 1u);
  EXPECT_EQ(s.core->status().tasks, 1);
}

TEST(Stop, WithoutKillingEndsAtOnceAndLeavesTasksRunning) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.step(StopAsked{.kill_tasks = false});
  EXPECT_EQ(s.take<Exit>().size(), 1u);
  EXPECT_TRUE(s.take<KillExecutor>().empty());
  EXPECT_TRUE(s.told_master<proto::UnregisterAgent>().empty());
}

TEST(Stop, WithKillingUnregistersWhenNothingIsLeft) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  s.run(command_task("t2"));
  s.updates();
  s.step(StopAsked{.kill_tasks = true});
  EXPECT_EQ(s.updates(), (Lines{"t2 1 killed killed_by_operator"}));
  s.run(command_task("late"));
  EXPECT_EQ(s.updates(), (Lines{"late 1 refused agent_not_available"}));
  s.tell(peer, "t1", TaskState::kKilled, 2);
  EXPECT_EQ(s.updates(), (Lines{"t1 2 killed killed_by_operator"}));
  EXPECT_TRUE(s.take<Exit>().empty());
  s.exits("t1");
  s.exits("t2");
  EXPECT_EQ(s.told_master<proto::UnregisterAgent>().size(), 1u);
  EXPECT_EQ(s.take<Exit>().size(), 1u);
}

TEST(Stop, DoesNotWaitForExecutorsLongerThanTheGrace) {
  AgentScenario s;
  s.registered();
  proto::RunTask task = command_task("t1");
  task.spec.kill_grace = minutes(10);
  s.run(task);
  s.tell(s.hello("t1"), "t1", TaskState::kRunning, 1);
  s.step(StopAsked{.kill_tasks = true});
  s.pass(seconds(6));
  EXPECT_EQ(s.take<KillExecutor>().size(), 1u);
  s.exits("t1");
  EXPECT_EQ(s.take<Exit>().size(), 1u);
}

}  // namespace
}  // namespace proffer::agent::kill_test
