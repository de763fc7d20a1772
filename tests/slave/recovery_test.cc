// A restarted agent finds its predecessor's executors and continues with them.

#include <algorithm>

#include "common/text.h"
#include "slave/core/state.h"
#include "tests/slave/restarted.h"

namespace proffer::agent::recovery_test {
namespace {

using proto::TaskState;
using scenario::AgentScenario;
using scenario::command_task;
using scenario::is_of;
using scenario::kBatch;
using scenario::registered_tasks;
using scenario::restart;
using scenario::shared_task;
using Lines = std::vector<std::string>;

TEST(Recovery, FindsItsExecutorsWaitsForThemAndRegistersWithTheirTasks) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.running("t2");
  restart(s);
  const std::vector<AdoptExecutor> adopts = s.take<AdoptExecutor>();
  ASSERT_EQ(adopts.size(), 2u);
  EXPECT_EQ(adopts[0].executor.pid, 1001);
  EXPECT_EQ(adopts[1].executor.pid, 1002);

  s.comes_back("t1");
  EXPECT_TRUE(s.told_master<proto::RegisterAgent>().empty());
  const PeerId peer = s.comes_back("t2");
  EXPECT_EQ(s.told_master<proto::RegisterAgent>().size(), 1u);
  EXPECT_EQ(registered_tasks(s), (Lines{"t1 running 1", "t2 running 1"}));
  EXPECT_EQ(s.core->status().used, ResourceVector::of(2000, 128'000));

  s.welcome();
  s.tell(peer, "t2", TaskState::kFinished, 2);
  EXPECT_EQ(s.updates(), (Lines{"t2 2 finished none"}));
}

TEST(Recovery, ATaskThatEndedMeanwhileIsToldAsItsExecutorTellsIt) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  restart(s);
  const PeerId peer = s.comes_back("t1");
  s.welcome();
  s.from_executor(peer, proto::ExecutorUpdate{{.task = TaskId("t1"),
                                               .state = TaskState::kFailed,
                                               .reason = proto::TaskReason::kCommandExited,
                                               .sequence = 2,
                                               .exit_code = 7}});
  const std::vector<proto::Update> updates = s.told_master<proto::Update>();
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_EQ(AgentScenario::line_of(updates[0].status), "t1 2 failed command_exited");
  EXPECT_EQ(updates[0].status.exit_code, 7);
  EXPECT_EQ(s.told_executors<proto::Acknowledge>().size(), 1u);
}

TEST(Recovery, AnUpdateThatWasTakenBeforeTheRestartIsNotTakenTwice) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  for (const bool compact : {false, true}) {
    s.restart(compact ? s.core->snapshot() : AgentSnapshot{s.log});
    s.tick();
    s.connect();
    const PeerId peer = s.comes_back("t1");
    s.welcome();
    s.tell(peer, "t1", TaskState::kRunning, 1);
    EXPECT_TRUE(s.updates().empty());
    EXPECT_EQ(s.told_executors<proto::Acknowledge>().size(), 1u);
  }
}

TEST(Recovery, AcknowledgesACheckpointedEndAfterTheRestart) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  s.tell(peer, "t1", TaskState::kFinished, 2);
  restart(s);
  s.told_executors<proto::Acknowledge>();
  // The executor may have got another task that the log lacks; its hello says that it did not.
  EXPECT_TRUE(registered_tasks(s).empty());
  const PeerId again = s.comes_back("t1");
  EXPECT_EQ(registered_tasks(s), (Lines{"t1 finished 2"}));
  EXPECT_TRUE(s.told_executors<proto::RunTask>().empty());
  s.tell(again, "t1", TaskState::kFinished, 2);
  EXPECT_EQ(s.told_executors<proto::Acknowledge>().size(), 1u);
  s.exits("t1");
  EXPECT_TRUE(s.core->status().executors.empty());
}

TEST(Recovery, AnExecutorWhoseTaskEndedAndThatDoesNotLeaveIsKilled) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  s.tell(peer, "t1", TaskState::kFinished, 2);
  restart(s);
  s.comes_back("t1");
  s.welcome();
  s.pass_with_master(seconds(16));
  EXPECT_EQ(s.take<KillExecutor>().size(), 1u);
}

TEST(Recovery, AnExecutorThatIsGoneLosesItsTasks) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  restart(s);
  s.is_gone("t1");
  EXPECT_EQ(s.told_master<proto::RegisterAgent>().size(), 1u);
  const auto parts = s.told_master<proto::RegisterTasks>();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(AgentScenario::line_of(parts[0].tasks.at(0).unacknowledged.back()),
            "t1 1048578 lost executor_ended");
  s.welcome();
  s.acknowledge("t1", kUnsyncedMax + 2);
  EXPECT_EQ(s.core->status().updates_unacknowledged, 0);
  EXPECT_TRUE(s.core->status().used.is_zero());
}

TEST(Recovery, LooksAlsoForAnExecutorThatWasAboutToStart) {
  AgentScenario s;
  s.registered();
  s.run(command_task("t1"));  // killed between the record and the fork, or right after the fork
  s.run(command_task("t2"));
  restart(s);
  const std::vector<AdoptExecutor> adopts = s.take<AdoptExecutor>();
  ASSERT_EQ(adopts.size(), 2u);
  EXPECT_EQ(adopts[0].executor.pid, 0);

  s.is_gone("t1");
  // The executor exists, and has no task yet.
  s.comes_back("t2");
  EXPECT_EQ(s.told_executors<proto::RunTask>().size(), 1u);
  EXPECT_EQ(std::get<proto::ExecutorRecord>(s.log.back()).pid, 1002);
  const auto parts = s.told_master<proto::RegisterTasks>();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(AgentScenario::line_of(parts[0].tasks.at(0).unacknowledged.back()),
            "t1 1 refused agent_restarted");
  EXPECT_EQ(parts[0].tasks.at(1).state, TaskState::kStaging);
}

// One was forked, the other had said hello, when the agent and then both executors ended.
TEST(Recovery, AnExecutorThatEndedBeforeItsHelloWasGivenNothing) {
  AgentScenario s;
  s.registered();
  s.run(command_task("t1"));
  s.run(command_task("t2"));
  s.hello("t2");
  s.is_found("t1");
  restart(s);
  s.is_gone("t1");
  s.is_gone("t2");
  const auto parts = s.told_master<proto::RegisterTasks>();
  ASSERT_EQ(parts.size(), 1u);
  Lines ends;
  for (const proto::AgentTask& task : parts[0].tasks) {
    ends.push_back(AgentScenario::line_of(task.unacknowledged.back()));
  }
  EXPECT_EQ(ends, (Lines{"t1 1 refused agent_restarted", "t2 1048577 lost executor_ended"}));
}

// The same for an executor that never returns.
TEST(Recovery, AnExecutorThatNeverSaidHelloWasGivenNothing) {
  AgentScenario s;
  s.registered();
  s.run(command_task("t1"));
  restart(s);
  s.is_found("t1");
  s.pass(seconds(10));
  EXPECT_EQ(s.take<KillExecutor>().size(), 1u);
  s.is_gone("t1");
  EXPECT_EQ(registered_tasks(s), (Lines{"t1 refused 1"}));
}

// A process between its fork and its exec is not found, and is killed; meanwhile it may say hello.
TEST(Recovery, AnExecutorThatWasNotFoundIsGivenNothing) {
  AgentScenario s;
  s.registered();
  s.run(command_task("t1"));
  restart(s);
  s.hello_again("t1");
  EXPECT_TRUE(s.told_executors<proto::RunTask>().empty());
  const auto refused = s.told_executors<proto::ErrorMessage>();
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_TRUE(refused[0].retry);
  s.is_gone("t1");
  const auto parts = s.told_master<proto::RegisterTasks>();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(AgentScenario::line_of(parts[0].tasks.at(0).unacknowledged.back()),
            "t1 1 refused agent_restarted");
}

TEST(Recovery, AnExecutorThatDoesNotReturnInTimeIsKilledAndItsTasksAreLost) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.running("t2");
  restart(s);
  s.comes_back("t1");
  s.is_found("t2");
  s.pass(milliseconds(9'900));
  EXPECT_TRUE(s.told_master<proto::RegisterAgent>().empty());
  EXPECT_TRUE(s.take<KillExecutor>().empty());
  s.pass(milliseconds(100));
  EXPECT_EQ(s.take<KillExecutor>().size(), 1u);
  s.hello_again("t2");
  EXPECT_EQ(s.told_executors<proto::ErrorMessage>().size(), 1u);
  // The task is lost only when the process has ended, which may run tasks that the log does not
  // name.
  EXPECT_TRUE(s.told_master<proto::RegisterAgent>().empty());
  s.is_gone("t2");
  EXPECT_EQ(s.told_master<proto::RegisterAgent>().size(), 1u);
  EXPECT_EQ(registered_tasks(s), (Lines{"t1 running 1", "t2 lost 1048578"}));
}

TEST(Recovery, AfterARebootNothingIsLeftToFind) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.options.boot_id = "boot-2";
  restart(s);
  EXPECT_TRUE(s.take<AdoptExecutor>().empty());
  const auto parts = s.told_master<proto::RegisterTasks>();
  ASSERT_EQ(parts.size(), 1u);
  // Far beyond numbers that were sent and then lost in a power failure, so that the end is not
  // taken for a repetition.
  EXPECT_EQ(AgentScenario::line_of(parts[0].tasks.at(0).unacknowledged.back()),
            "t1 1048578 lost agent_restarted");
}

// So that the master does not send tasks again that may have run.
TEST(Recovery, TellsTheMasterIfItMayHaveForgotten) {
  const auto memory = [](const std::string& boot, uint32_t checkpoint) {
    AgentScenario s;
    s.registered();
    s.options.boot_id = boot;
    s.options.checkpoint = checkpoint;
    restart(s);
    const auto registers = s.told_master<proto::RegisterAgent>();
    EXPECT_EQ(registers.size(), 1u);
    return registers.at(0).memory;
  };
  EXPECT_EQ(memory("boot-1", 7), memory("boot-1", 7));
  EXPECT_NE(memory("boot-1", 7), memory("boot-2", 7));
  EXPECT_NE(memory("boot-1", 7), memory("boot-1", 8));
  EXPECT_NE(memory("boot-1", 7), 0u);
}

TEST(Recovery, ACrashInTheMiddleOfItBeginsItAnew) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.running("t2");
  restart(s);
  s.is_gone("t1");
  s.is_found("t2");
  restart(s);
  EXPECT_EQ(s.take<AdoptExecutor>().size(), 1u);
  s.comes_back("t2");
  EXPECT_EQ(registered_tasks(s), (Lines{"t1 lost 1048578", "t2 running 1"}));
}

TEST(Recovery, AnExecutorThatCameBackIsLikeAnyOther) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.running("t2");
  s.running("t3");
  restart(s);
  const PeerId first = s.comes_back("t1");
  s.comes_back("t2");
  s.comes_back("t3");
  s.welcome();
  s.told_executors<proto::KillTask>();
  s.kill("t1");
  EXPECT_EQ(s.told_executors<proto::KillTask>().size(), 1u);
  s.tell(first, "t1", TaskState::kKilled, 2);
  s.is_gone("t1");
  s.is_gone("t2");  // no process here could see how
  s.kill("t3", seconds(1));
  s.pass_with_master(seconds(7));
  EXPECT_EQ(s.take<KillExecutor>().size(), 1u);
  s.is_gone("t3");
  EXPECT_EQ(s.updates(), (Lines{"t1 2 killed killed_by_scheduler", "t2 2 failed executor_ended",
                                "t3 2 killed killed_by_scheduler"}));
}

// After SIGSTOP, or without CPU time: executors have said hello, and the agent has not read it yet.
TEST(Recovery, AnAgentThatStoodStillGivesExecutorsTheirTimeAgain) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.running("t2");
  restart(s);
  s.is_found("t1");
  s.is_found("t2");
  s.now = s.now + seconds(30);
  s.tick();
  EXPECT_TRUE(s.take<KillExecutor>().empty());
  s.pass(seconds(5));
  s.hello_again("t1");
  // The wait is not endless either.
  s.pass(seconds(5));
  EXPECT_EQ(s.take<KillExecutor>().size(), 1u);
  s.is_gone("t2");
  EXPECT_EQ(registered_tasks(s), (Lines{"t1 running 1", "t2 lost 1048578"}));
}

// A single look at the clock does not show whether the agent or the executor was slow.
TEST(Recovery, AnExecutorIsFoundSilentTwiceBeforeItIsKilled) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  restart(s);
  s.is_found("t1");
  int ticks = 0;
  while (s.take<KillExecutor>().empty()) {
    ASSERT_LT(++ticks, 10);
    s.now = std::max(s.now, *s.core->next_deadline());
    s.tick();
  }
  EXPECT_GT(ticks, 1);
}

TEST(Recovery, AnAgentThatStoodStillKillsNoExecutorThatItStarted) {
  AgentScenario s;
  s.registered();
  s.run(command_task("t1"));
  const PeerId peer = s.running("t2");
  s.tell(peer, "t2", TaskState::kFinished, 2);
  s.now = s.now + minutes(2);
  s.tick();
  EXPECT_TRUE(s.take<KillExecutor>().empty());
}

TEST(Recovery, ASharedExecutorIsTakenBackAlsoWithoutTasksAndGetsTheNext) {
  AgentScenario s;
  s.registered();
  s.run(shared_task("m1"));
  const PeerId peer = s.hello("workers");
  s.tell(peer, "m1", TaskState::kFinished, 1);
  s.acknowledge("m1", 1);
  s.restart(s.core->snapshot());
  s.tick();
  s.connect();
  EXPECT_TRUE(s.told_master<proto::RegisterAgent>().empty());
  s.comes_back("workers");
  EXPECT_EQ(s.told_master<proto::RegisterAgent>().size(), 1u);
  s.welcome();
  s.told_executors<proto::RunTask>();
  s.run(shared_task("m2"));
  EXPECT_TRUE(s.take<StartExecutor>().empty());
  EXPECT_EQ(s.told_executors<proto::RunTask>().size(), 1u);
  proto::RunTask other = shared_task("m3");
  other.spec.executor = "exec another";
  s.run(other);
  EXPECT_EQ(s.updates(), (Lines{"m3 1 refused task_invalid"}));
}

TEST(Recovery, ATaskThatWaitedForTheNextRunOfItsExecutorIsLost) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  s.tell(peer, "t1", TaskState::kFinished, 2);
  s.acknowledge("t1", 2);
  s.run(command_task("t1"));
  restart(s);
  s.comes_back("t1");
  EXPECT_EQ(registered_tasks(s), (Lines{"t1 lost 1048577"}));
}

TEST(Recovery, ATaskWhoseWaitEndedIsFoundAgain) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  s.tell(peer, "t1", TaskState::kFinished, 2);
  s.acknowledge("t1", 2);
  s.run(command_task("t1"));
  s.exits("t1");
  s.hello("t1");
  restart(s);
  s.comes_back("t1");
  EXPECT_EQ(registered_tasks(s), (Lines{"t1 staging 0"}));
}

TEST(Recovery, AnAgentThatIsGivenLessThanRunsHasAtLeastThat) {
  AgentScenario s;
  s.registered();
  s.run(command_task("t1", "cpus:3;mem:64;ports:[31005-31005]"));
  s.hello("t1");
  s.options.total = scenario::resources_of("cpus:2;mem:1024;ports:[31000-31001]");
  restart(s);
  s.comes_back("t1");
  const auto registers = s.told_master<proto::RegisterAgent>();
  ASSERT_EQ(registers.size(), 1u);
  EXPECT_EQ(to_text(registers[0].slices.at(0).resources.amounts), "cpus:3;mem:1024");
  EXPECT_EQ(to_text(registers[0].ports), "[31000-31001,31005]");
}

TEST(Recovery, AnAgentThatIsGivenLessThanRunsOffersLessAsTasksEnd) {
  AgentScenario s;
  s.registered();
  s.run(command_task("t1", "cpus:2;mem:64;ports:[31005-31005]"));
  s.hello("t1");
  s.run(command_task("t2", "cpus:1;mem:64"));
  s.hello("t2");
  s.options.total = scenario::resources_of("cpus:1;mem:1024;ports:[31000-31001]");
  restart(s);
  const PeerId one = s.comes_back("t1");
  const PeerId two = s.comes_back("t2");
  s.welcome();
  s.told_master<proto::RegisterAgent>();
  const auto registered_total = [&] {
    EXPECT_EQ(s.take<ResetMaster>().size(), 1u);
    s.step(MasterDisconnected{});
    s.connect();
    const auto registers = s.told_master<proto::RegisterAgent>();
    EXPECT_EQ(registers.size(), 1u);
    s.welcome();
    return registers.empty() ? std::string()
                             : text(to_text(registers[0].slices.at(0).resources.amounts), " ",
                                    to_text(registers[0].ports));
  };
  s.tell(one, "t1", TaskState::kFinished, 1);
  EXPECT_EQ(registered_total(), "cpus:1;mem:1024 [31000-31001]");
  EXPECT_EQ(s.core->status().total.amounts, ResourceVector::of(1'000, 1'024'000));
  // From then on its total does not change.
  s.tell(two, "t2", TaskState::kFinished, 1);
  EXPECT_TRUE(s.take<ResetMaster>().empty());
}

TEST(Recovery, PortsOnWhichOthersListenAreNotOfferedButThoseOfItsTasksAre) {
  AgentScenario s;
  s.registered();
  s.run(command_task("t1", "cpus:1;mem:64;ports:[31003-31003]"));
  const PeerId before = s.hello("t1");
  EXPECT_NE(before, PeerId());
  s.options.ports_in_use = PortSet({{31003, 31004}});
  restart(s);
  const PeerId peer = s.comes_back("t1");
  auto registers = s.told_master<proto::RegisterAgent>();
  ASSERT_EQ(registers.size(), 1u);
  EXPECT_EQ(to_text(registers[0].ports), "[31000-31003,31005-31009]");
  ASSERT_NE(s.traced<PortsLeftOut>(), nullptr);
  EXPECT_EQ(to_text(s.traced<PortsLeftOut>()->ports), "[31004]");
  s.welcome();
  // It keeps the port of a task that ends.
  s.tell(peer, "t1", TaskState::kFinished, 1);
  EXPECT_TRUE(s.take<ResetMaster>().empty());
  EXPECT_EQ(to_text(s.core->status().total.ports), "[31000-31003,31005-31009]");
}

TEST(Recovery, AStopWithKillingEndsAlsoWhatIsStillLookedFor) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.running("t2");
  s.crash_and_restart();
  s.step(StopAsked{.kill_tasks = true});
  EXPECT_TRUE(s.take<Exit>().empty());
  const PeerId peer = s.comes_back("t1");
  EXPECT_EQ(s.told_executors<proto::KillTask>().size(), 1u);
  s.tell(peer, "t1", TaskState::kKilled, 2);
  s.is_gone("t1");
  s.pass(seconds(6));
  EXPECT_EQ(s.take<KillExecutor>().size(), 1u);
  s.is_gone("t2");
  EXPECT_EQ(s.take<Exit>().size(), 1u);
}

// --- a damaged checkpoint ----------------------------------------------------------------------

// Restarts without the records that the predicate selects, as the shell passes them to the core.
template <class Predicate>
void restart_without(AgentScenario& s, const Predicate& is_damaged) {
  AgentSnapshot left{s.log};
  std::erase_if(left.records, is_damaged);
  s.options.remembered = Remembered::kWithGaps;
  s.options.newest_run = 7;
  s.restart(left);
  s.tick();
  s.connect();
}
TEST(Gaps, WhatIsNamedInFullRunsOn) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.running("t2");
  restart_without(s, [](const auto& record) { return is_of<proto::TaskRecord>(record, "t2"); });
  // The second executor's task is unknown, so it is killed before the registration.
  const std::vector<EndLeftover> leftovers = s.take<EndLeftover>();
  ASSERT_EQ(leftovers.size(), 1u);
  EXPECT_EQ(leftovers[0].executor.pid, 1002);
  const PeerId peer = s.comes_back("t1");
  EXPECT_TRUE(s.told_master<proto::RegisterAgent>().empty());
  s.step(LeftoverEnded{kBatch, ExecutorId("t2")});
  EXPECT_EQ(s.told_master<proto::RegisterAgent>().size(), 1u);
  EXPECT_EQ(registered_tasks(s).size(), 1u);
  s.welcome();
  // A number of an earlier run that was not written completely is not used again, also after
  // another crash.
  s.from_executor(peer, proto::ExecutorUpdate{
                            {.task = TaskId("t1"), .state = TaskState::kFinished, .sequence = 2}});
  const std::vector<proto::Update> told = s.told_master<proto::Update>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].status.state, TaskState::kFinished);
  EXPECT_GT(told[0].status.sequence, 1'000'000u);
}

TEST(Gaps, ATaskWhoseExecutorIsNotNamedIsEndedByItsSandboxAndLost) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  restart_without(s, [](const auto& record) { return is_of<proto::ExecutorRecord>(record, "t1"); });
  const std::vector<EndLeftover> leftovers = s.take<EndLeftover>();
  ASSERT_EQ(leftovers.size(), 1u);
  EXPECT_EQ(leftovers[0].executor.executor, ExecutorId("t1"));
  EXPECT_EQ(leftovers[0].executor.run, 1u);
  EXPECT_TRUE(s.told_master<proto::RegisterAgent>().empty());
  s.crash_and_restart();
  s.tick();
  s.connect();
  EXPECT_EQ(s.take<EndLeftover>().size(), 1u);
  s.step(LeftoverEnded{kBatch, ExecutorId("t1")});
  s.welcome();
  // New run numbers start after those that have a sandbox.
  s.actions.clear();
  s.run(command_task("t2"));
  s.collect_starts();
  EXPECT_EQ(s.started("t2").run, 8u);
}

// The note stays until the agent registers, so a crash before that does not hide the loss.
TEST(Gaps, AreNotedUntilTheirExecutorsHaveEnded) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  const auto noted = [&] {
    AgentSnapshot snapshot{s.log};
    return note_loss(snapshot, Remembered::kAll);
  };
  EXPECT_EQ(noted(), Remembered::kAll);
  AgentSnapshot left{s.log};
  std::erase_if(left.records,
                [](const auto& record) { return is_of<proto::TaskRecord>(record, "t1"); });
  s.options.remembered = note_loss(left, Remembered::kWithGaps);
  s.options.newest_run = 7;
  s.restart(left);
  s.tick();
  s.connect();
  EXPECT_EQ(noted(), Remembered::kWithGaps);
  s.crash_and_restart();
  s.tick();
  s.connect();
  EXPECT_EQ(s.take<EndLeftover>().size(), 1u);
  EXPECT_EQ(noted(), Remembered::kWithGaps);
  s.step(LeftoverEnded{kBatch, ExecutorId("t1")});
  EXPECT_EQ(s.told_master<proto::RegisterAgent>().size(), 1u);
  EXPECT_EQ(noted(), Remembered::kAll);
}

TEST(Gaps, SharedExecutorsAreEnded) {
  AgentScenario s;
  s.registered();
  proto::RunTask shared = command_task("t1");
  shared.spec.executor_id = ExecutorId("e1");
  s.run(shared);
  s.tell(s.hello("e1"), "t1", TaskState::kRunning, 1);
  restart_without(s, [](const auto&) { return false; });
  EXPECT_EQ(s.take<EndLeftover>().size(), 1u);
  s.hello_again("e1");
  EXPECT_FALSE(s.told_executors<proto::ErrorMessage>().at(0).retry);
}

TEST(Gaps, SaysSoWhenALeftoverCannotBeEnded) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  restart_without(s, [](const auto& record) { return is_of<proto::TaskRecord>(record, "t1"); });
  s.pass(seconds(31));
  EXPECT_NE(s.traced<LeftoverStays>(), nullptr);
}

// For any damaged record: every task that the other records name completely runs on, and no task is
// both reported as lost and left running.
TEST(Gaps, OneDamagedRecordCostsWhatItNames) {
  AgentScenario story;
  story.registered();
  for (const char* task : {"t1", "t2", "t3"}) story.running(task);
  for (size_t damaged = 0; damaged < story.log.size(); ++damaged) {
    AgentScenario s;
    s.registered();
    for (const char* task : {"t1", "t2", "t3"}) s.running(task);
    const proto::CheckpointRecord gone = s.log.at(damaged);
    size_t at = 0;
    restart_without(s, [&](const auto&) { return at++ == damaged; });
    std::set<std::string> ended;
    for (const EndLeftover& one : s.take<EndLeftover>()) {
      ended.insert(one.executor.executor.str());
    }
    const bool is_task = std::holds_alternative<proto::TaskRecord>(gone);
    const bool is_executor = std::holds_alternative<proto::ExecutorRecord>(gone);
    EXPECT_LE(ended.size(), is_task || is_executor ? 1u : 0u) << damaged;
    for (const char* task : {"t1", "t2", "t3"}) {
      if (ended.contains(task)) {
        s.step(LeftoverEnded{kBatch, ExecutorId(task)});
      } else {
        s.comes_back(task);
      }
    }
    EXPECT_EQ(s.told_master<proto::RegisterAgent>().size(), 1u) << damaged;
  }
}

// A record without its parts cannot be decoded (found by the simulator, seeds 9 and 2).
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
