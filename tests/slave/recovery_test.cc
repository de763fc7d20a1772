// What an agent does with what its predecessor left.

#include "tests/slave/agent_scenario.h"

namespace proffer::agent::recovery_test {
namespace {

using proto::TaskState;
using scenario::AgentScenario;
using scenario::command_task;
using scenario::kBatch;
using Lines = std::vector<std::string>;

TEST(Recovery, EndsLeftoversThenReportsTheirTasksLostThenRegisters) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.crash_and_restart();
  EXPECT_EQ(s.core->next_deadline(), Time());

  s.tick();
  const std::vector<EndLeftover> leftovers = s.take<EndLeftover>();
  ASSERT_EQ(leftovers.size(), 1u);
  EXPECT_EQ(leftovers[0].executor.pid, 1001);
  s.connect();
  EXPECT_TRUE(s.told_master<proto::RegisterAgent>().empty());

  s.step(LeftoverEnded{kBatch, ExecutorId("t1")});
  ASSERT_EQ(s.told_master<proto::RegisterAgent>().size(), 1u);
  const auto parts = s.told_master<proto::RegisterTasks>();
  ASSERT_EQ(parts.size(), 1u);
  const proto::AgentTask& task = parts[0].tasks.at(0);
  EXPECT_EQ(task.state, TaskState::kLost);
  ASSERT_EQ(task.unacknowledged.size(), 2u);
  EXPECT_EQ(AgentScenario::line_of(task.unacknowledged[1]), "t1 2 lost agent_restarted");
  s.welcome();
  s.acknowledge("t1", 2);
  EXPECT_EQ(s.core->status().updates_unacknowledged, 0);
}

TEST(Recovery, LooksAlsoForAnExecutorThatWasAboutToStart) {
  AgentScenario s;
  s.registered();
  s.run(command_task("t1"));  // killed between the record and the fork, or right after it
  s.crash_and_restart();
  s.tick();
  const std::vector<EndLeftover> leftovers = s.take<EndLeftover>();
  ASSERT_EQ(leftovers.size(), 1u);
  EXPECT_EQ(leftovers[0].executor.pid, 0);
}

TEST(Recovery, AfterARebootNothingIsLeftToEnd) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.options.boot_id = "boot-2";
  s.crash_and_restart();
  s.tick();
  EXPECT_TRUE(s.take<EndLeftover>().empty());
  s.connect();
  EXPECT_EQ(s.told_master<proto::RegisterTasks>().at(0).tasks.at(0).state, TaskState::kLost);
}

TEST(Recovery, ACrashInTheMiddleOfItBeginsItAnew) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.running("t2");
  s.crash_and_restart();
  s.tick();
  s.step(LeftoverEnded{kBatch, ExecutorId("t1")});
  s.crash_and_restart();
  s.tick();
  EXPECT_EQ(s.take<EndLeftover>().size(), 1u);
  s.step(LeftoverEnded{kBatch, ExecutorId("t2")});
  s.connect();
  EXPECT_EQ(s.told_master<proto::RegisterTasks>().at(0).tasks.size(), 2u);
}

TEST(Recovery, SaysSoWhenALeftoverCannotBeEnded) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.crash_and_restart();
  s.tick();
  s.pass(seconds(31));
  EXPECT_TRUE(s.has_traced("processes of an earlier life cannot be ended"));
}

TEST(Recovery, AnExecutorOfAnEarlierLifeIsNotTakenBack) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  const StartExecutor start = s.started("t1");
  s.crash_and_restart();
  s.tick();
  s.from_executor(PeerId(3), proto::ExecutorHello{start.framework, start.executor, start.token});
  const auto errors = s.told_executors<proto::ErrorMessage>();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_FALSE(errors[0].retry);
}

TEST(Recovery, AStopWithKillingWaitsForTheLeftovers) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.crash_and_restart();
  s.step(StopAsked{.kill_tasks = true});
  EXPECT_TRUE(s.take<Exit>().empty());
  s.step(LeftoverEnded{kBatch, ExecutorId("t1")});
  EXPECT_EQ(s.take<Exit>().size(), 1u);
}

// A record without its parts cannot be read back from bytes (found by the simulator, seeds 9 and
// 2).
TEST(Recovery, TheCheckpointNamesItsLastRunAndARefusedLaunchInFull) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.run(command_task("t2", "cpus:100;mem:64"));
  s.exits("t1");
  for (const std::vector<proto::CheckpointRecord>& records : {s.log, s.core->snapshot().records}) {
    size_t runs = 0;
    for (const proto::CheckpointRecord& record : records) {
      if (const auto* executor = std::get_if<proto::ExecutorRecord>(&record)) {
        EXPECT_TRUE(is_valid_secret(executor->token.str()));
        ++runs;
      } else if (const auto* task = std::get_if<proto::TaskRecord>(&record)) {
        EXPECT_FALSE(task->executor.empty()) << task->spec.id.str();
      }
    }
    EXPECT_GT(runs, 0u);
  }
}

}  // namespace
}  // namespace proffer::agent::recovery_test
