// What an agent does with what its predecessor ran: it finds it and goes on with it.

#include <algorithm>

#include "common/text.h"
#include "slave/core/state.h"
#include "tests/slave/agent_scenario.h"

namespace proffer::agent::recovery_test {
namespace {

using proto::TaskState;
using scenario::AgentScenario;
using scenario::command_task;
using scenario::kBatch;
using Lines = std::vector<std::string>;

// A restarted agent that looks for its executors, with a connection to its master.
void restart(AgentScenario& s) {
  s.crash_and_restart();
  EXPECT_EQ(s.core->next_deadline(), Time());
  s.tick();
  s.connect();
}

proto::RunTask shared_task(const std::string& id) {
  proto::RunTask task = command_task(id);
  task.spec.executor = proto::kBatchExecutor;
  task.spec.executor_id = ExecutorId("workers");
  return task;
}

Lines registered_tasks(AgentScenario& s) {
  Lines lines;
  for (const proto::RegisterTasks& part : s.told_master<proto::RegisterTasks>()) {
    for (const proto::AgentTask& task : part.tasks) {
      lines.push_back(text(task.task.str(), " ", to_text(task.state), " ", task.sequence));
    }
  }
  return lines;
}

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

TEST(Recovery, AnEndThatWasWrittenDownButNotAcknowledgedIsAcknowledgedAfterTheRestart) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  s.tell(peer, "t1", TaskState::kFinished, 2);
  restart(s);
  s.told_executors<proto::Acknowledge>();
  // It may have been given another task, of which the log has nothing: it says that it was not.
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
            "t1 2 lost executor_ended");
  s.welcome();
  s.acknowledge("t1", 2);
  EXPECT_EQ(s.core->status().updates_unacknowledged, 0);
  EXPECT_TRUE(s.core->status().used.is_zero());
}

TEST(Recovery, LooksAlsoForAnExecutorThatWasAboutToStart) {
  AgentScenario s;
  s.registered();
  s.run(command_task("t1"));  // killed between the record and the fork, or right after it
  s.run(command_task("t2"));
  restart(s);
  const std::vector<AdoptExecutor> adopts = s.take<AdoptExecutor>();
  ASSERT_EQ(adopts.size(), 2u);
  EXPECT_EQ(adopts[0].executor.pid, 0);

  s.is_gone("t1");
  // It is there, and was given nothing yet.
  s.comes_back("t2");
  EXPECT_EQ(s.told_executors<proto::RunTask>().size(), 1u);
  EXPECT_EQ(std::get<proto::ExecutorRecord>(s.log.back()).pid, 1002);
  const auto parts = s.told_master<proto::RegisterTasks>();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(AgentScenario::line_of(parts[0].tasks.at(0).unacknowledged.back()),
            "t1 1 refused agent_restarted");
  EXPECT_EQ(parts[0].tasks.at(1).state, TaskState::kStaging);
}

// One was forked, the other had said hello, when the agent and then both ended.
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
  EXPECT_EQ(ends, (Lines{"t1 1 refused agent_restarted", "t2 1 lost executor_ended"}));
}

// Nor was one that never comes back.
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

// A process between its fork and its program is not found, and ended; meanwhile it may say hello.
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

TEST(Recovery, AnExecutorThatDoesNotComeBackInTimeIsEndedAndThenItsTasksAreLost) {
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
  // Its end alone makes the loss true, also of what it may run and the log does not name.
  EXPECT_TRUE(s.told_master<proto::RegisterAgent>().empty());
  s.is_gone("t2");
  EXPECT_EQ(s.told_master<proto::RegisterAgent>().size(), 1u);
  EXPECT_EQ(registered_tasks(s), (Lines{"t1 running 1", "t2 lost 2"}));
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
  // Far beyond what was told and then lost with the power: nobody takes the end for one of those.
  EXPECT_EQ(AgentScenario::line_of(parts[0].tasks.at(0).unacknowledged.back()),
            "t1 1048578 lost agent_restarted");
}

// So that what it was told, and may have run, is not sent again.
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
  EXPECT_EQ(registered_tasks(s), (Lines{"t1 lost 2", "t2 running 1"}));
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
  s.is_gone("t2");  // nobody here could see how
  s.kill("t3", seconds(1));
  s.pass_with_master(seconds(7));
  EXPECT_EQ(s.take<KillExecutor>().size(), 1u);
  s.is_gone("t3");
  EXPECT_EQ(s.updates(), (Lines{"t1 2 killed killed_by_scheduler", "t2 2 failed executor_ended",
                                "t3 2 killed killed_by_scheduler"}));
}

// SIGSTOP or a machine without a free CPU: executors have said hello, and nobody has read it yet.
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
  // Nor does it wait for ever.
  s.pass(seconds(5));
  EXPECT_EQ(s.take<KillExecutor>().size(), 1u);
  s.is_gone("t2");
  EXPECT_EQ(registered_tasks(s), (Lines{"t1 running 1", "t2 lost 2"}));
}

// A clock read once does not say whether the agent or the executor was slow.
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

// Without the records that a predicate chooses, as the shell gives it to the core.
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
template <class Record>
bool is_of(const proto::CheckpointRecord& record, const std::string& executor) {
  const auto* one = std::get_if<Record>(&record);
  return one != nullptr && one->executor.str() == executor;
}

TEST(Gaps, WhatIsNamedInFullRunsOn) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.running("t2");
  restart_without(s, [](const auto& record) { return is_of<proto::TaskRecord>(record, "t2"); });
  // The task of the second is not known, so it is ended before the master hears of the agent.
  const std::vector<EndLeftover> leftovers = s.take<EndLeftover>();
  ASSERT_EQ(leftovers.size(), 1u);
  EXPECT_EQ(leftovers[0].executor.pid, 1002);
  const PeerId peer = s.comes_back("t1");
  EXPECT_TRUE(s.told_master<proto::RegisterAgent>().empty());
  s.step(LeftoverEnded{kBatch, ExecutorId("t2")});
  EXPECT_EQ(s.told_master<proto::RegisterAgent>().size(), 1u);
  EXPECT_EQ(registered_tasks(s).size(), 1u);
  s.welcome();
  // A number that an earlier life gave, and did not write down whole, is not given again; nor after
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
  // Runs go on behind those that have a sandbox.
  s.actions.clear();
  s.run(command_task("t2"));
  s.collect_starts();
  EXPECT_EQ(s.started("t2").run, 8u);
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

// Whichever record is damaged: every task that the others name in full runs on, and none is both
// told as lost and let run.
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

// --- what a cut checkpoint does not name ------------------------------------------------------

// t1 ran, ended and was acknowledged; its executor took t9, which runs.
class Forgotten : public testing::Test {
 protected:
  void SetUp() override {
    s_.registered();
    const PeerId peer = s_.running("t1");
    s_.from_executor(
        peer, proto::ExecutorUpdate{
                  .status = {.task = TaskId("t1"), .state = TaskState::kFinished, .sequence = 2},
                  .takes_another = true});
    s_.acknowledge("t1", 1);
    s_.acknowledge("t1", 2);
    s_.run(command_task("t9"));
    s_.collect_starts();
    ASSERT_TRUE(s_.started("t9").spare);
    s_.step(ExecutorStarted{kBatch, ExecutorId("t9"), 2, 1001, 5, "/sandboxes/t9"});
    s_.tell(peer, "t9", TaskState::kRunning, 1);
    whole_ = s_.log;
  }
  // Only so many records are left.
  void restart_with(size_t left) {
    s_.restart({.records = {whole_.begin(), whole_.begin() + static_cast<ptrdiff_t>(left)}});
    s_.tick();
    s_.connect();
  }
  static proto::ExecutorRun ended(const std::string& task, uint64_t run) {
    return {
        .task = TaskId(task),
        .run = run,
        .ended = true,
        .acknowledged = 2,
        .status = proto::TaskStatus{
            .task = TaskId(task), .state = TaskState::kFinished, .sequence = 2, .exit_code = 0}};
  }
  // By the process, whatever the agent takes it for.
  static proto::ExecutorHello truth() {
    return {.run = 2,
            .tells_runs = true,
            .runs = {{.task = TaskId("t9"), .run = 2, .acknowledged = 1}, ended("t1", 1)}};
  }
  void is_found_as(const AdoptExecutor& adopt) {
    s_.step(ExecutorStarted{kBatch, adopt.executor.executor, adopt.executor.run, 1001, 5});
  }
  uint32_t memory() {
    const auto told = s_.told_master<proto::RegisterAgent>();
    return told.size() == 1 ? told[0].memory : 0;
  }

  AgentScenario s_;
  std::vector<proto::CheckpointRecord> whole_;
};

// Wherever the log ends: t1 is not run again, t9 is killed or goes on, and the master hears of the
// agent when that is done. Each life comes to that, also if the agent is killed amid it.
TEST_F(Forgotten, WhereverTheCheckpointIsCutNothingRunsTwiceAndNothingIsLostAndAlive) {
  size_t taken_for_the_first = 0;
  for (size_t left = 2; left <= whole_.size(); ++left) {
    for (const bool is_killed_again : {false, true}) {
      SCOPED_TRACE(text(left, " of ", whole_.size(), " records", is_killed_again ? ", twice" : ""));
      restart_with(left);
      std::vector<AdoptExecutor> adopts = s_.take<AdoptExecutor>();
      if (adopts.empty()) continue;  // The shell ends what no record names.
      ASSERT_EQ(adopts.size(), 1u);
      is_found_as(adopts[0]);
      EXPECT_EQ(memory(), 0u) << "registered before the executor said what runs in it";
      s_.hello_with("t9", truth());
      if (is_killed_again) {
        s_.crash_and_restart();
        s_.tick();
        s_.connect();
        adopts = s_.take<AdoptExecutor>();
        ASSERT_EQ(adopts.size(), 1u);
        is_found_as(adopts[0]);
        s_.hello_with("t9", truth());
      }
      const std::vector<proto::RunTask> given = s_.told_executors<proto::RunTask>();
      if (adopts[0].executor.run == 2) {
        ASSERT_EQ(given.size(), 1u);
        EXPECT_EQ(given[0].spec.id, TaskId("t9"));
        EXPECT_NE(memory(), 0u);
        continue;
      }
      ++taken_for_the_first;
      EXPECT_TRUE(given.empty()) << "t1 has ended, and is given to its executor";
      EXPECT_EQ(s_.take<KillExecutor>().size(), 1u);
      EXPECT_EQ(memory(), 0u) << "registered while t9 lives";
      s_.step(ExecutorExited{kBatch, ExecutorId("t1"), 1, {}, {}});
      EXPECT_NE(memory(), 0u);
      for (const std::string& line : registered_tasks(s_)) {
        EXPECT_TRUE(line.starts_with("t1 finished ") || line.starts_with("t9 lost ")) << line;
      }
      EXPECT_EQ(s_.core->status().tasks, 0);
    }
  }
  EXPECT_GE(taken_for_the_first, 6u);
}

TEST_F(Forgotten, TheMasterDoesNotSendAgainWhatWasForgottenInThisLifeNorInTheNext) {
  s_.crash_and_restart();
  s_.tick();
  s_.connect();
  is_found_as(s_.take<AdoptExecutor>().at(0));
  s_.hello_with("t9", truth());
  const uint32_t whole = memory();
  restart_with(4);
  is_found_as(s_.take<AdoptExecutor>().at(0));
  s_.hello_with("t9", truth());
  s_.step(ExecutorExited{kBatch, ExecutorId("t1"), 1, {}, {}});
  const uint32_t cut = memory();
  EXPECT_NE(cut, whole);
  s_.crash_and_restart();
  s_.tick();
  s_.connect();
  EXPECT_EQ(memory(), cut);
}

TEST_F(Forgotten, HowATaskEndedIsLostIfItsExecutorHasForgottenIt) {
  restart_with(4);
  is_found_as(s_.take<AdoptExecutor>().at(0));
  proto::ExecutorHello hello = truth();
  hello.runs.pop_back();
  s_.hello_with("t9", hello);
  s_.step(ExecutorExited{kBatch, ExecutorId("t1"), 1, {}, {}});
  const auto parts = s_.told_master<proto::RegisterTasks>();
  ASSERT_EQ(parts.size(), 1u);
  const proto::TaskStatus& last = parts[0].tasks.at(0).unacknowledged.back();
  EXPECT_EQ(last.state, TaskState::kLost);
  EXPECT_GT(last.sequence, kUnsyncedMax);
}

// One of the version before. That it has another name than the record says that it went on.
TEST_F(Forgotten, AnExecutorThatTellsNoRunsIsTakenUnderTheNameOfTheRecordOnly) {
  for (const bool is_same_name : {true, false}) {
    restart_with(4);
    is_found_as(s_.take<AdoptExecutor>().at(0));
    s_.hello_with(is_same_name ? "t1" : "t9", {});
    EXPECT_EQ(s_.take<KillExecutor>().size(), is_same_name ? 0u : 1u);
    EXPECT_EQ(s_.told_executors<proto::RunTask>().size(), is_same_name ? 1u : 0u);
  }
}

TEST_F(Forgotten, OneThatHasNotHeardOfItsNewRunIsGivenThat) {
  s_.crash_and_restart();
  s_.tick();
  is_found_as(s_.take<AdoptExecutor>().at(0));
  s_.hello_with("t1", {.run = 1, .tells_runs = true, .runs = {ended("t1", 1)}});
  const std::vector<proto::RunTask> given = s_.told_executors<proto::RunTask>();
  ASSERT_EQ(given.size(), 1u);
  EXPECT_TRUE(given[0].becomes);
  EXPECT_EQ(given[0].run, 2u);
  EXPECT_TRUE(s_.take<KillExecutor>().empty());
}

// The records of the first run once more, behind those of the second.
TEST_F(Forgotten, OfTwoRecordsOfOneProcessTheLaterRunCounts) {
  std::vector<proto::CheckpointRecord> twice = whole_;
  for (const proto::CheckpointRecord& record : whole_) {
    if (is_of<proto::TaskRecord>(record, "t1") || is_of<proto::ExecutorRecord>(record, "t1")) {
      twice.push_back(record);
    }
  }
  s_.restart({.records = twice});
  s_.tick();
  s_.connect();
  const std::vector<AdoptExecutor> adopts = s_.take<AdoptExecutor>();
  ASSERT_EQ(adopts.size(), 1u);
  EXPECT_EQ(adopts[0].executor.executor, ExecutorId("t9"));
  is_found_as(adopts[0]);
  s_.hello_with("t9", truth());
  s_.pass(minutes(1));
  EXPECT_TRUE(s_.take<KillExecutor>().empty());
  EXPECT_EQ(s_.core->status().tasks, 1);
}

TEST_F(Forgotten, AnExecutorThatDoesNotSayHelloIsGoneBeforeTheAgentRegisters) {
  restart_with(whole_.size() - 1);
  is_found_as(s_.take<AdoptExecutor>().at(0));
  s_.pass(seconds(11));
  EXPECT_EQ(s_.take<KillExecutor>().size(), 1u);
  EXPECT_EQ(memory(), 0u);
  s_.is_gone("t9");
  EXPECT_NE(memory(), 0u);
}

// t2 shares the executor of t1; the log ends before t2.
class ForgottenInAShared : public testing::Test {
 protected:
  void SetUp() override {
    s_.registered();
    s_.run(shared_task("t1"));
    const PeerId peer = s_.hello("workers");
    s_.tell(peer, "t1", TaskState::kRunning, 1);
    const std::vector<proto::CheckpointRecord> before = s_.log;
    s_.run(shared_task("t2"));
    s_.restart({.records = before});
    s_.tick();
    s_.connect();
    s_.is_found("workers");
    peer_ = s_.hello_with("workers", {.run = 1,
                                      .tells_runs = true,
                                      .runs = {{.task = TaskId("t1"), .run = 1, .acknowledged = 1},
                                               {.task = TaskId("t2"), .run = 1}}});
  }
  size_t registrations() { return s_.told_master<proto::RegisterAgent>().size(); }

  AgentScenario s_;
  PeerId peer_;
};

TEST_F(ForgottenInAShared, ATaskThatIsNotNamedIsKilledBeforeTheAgentRegisters) {
  const std::vector<proto::KillTask> kills = s_.told_executors<proto::KillTask>();
  ASSERT_EQ(kills.size(), 1u);
  EXPECT_EQ(kills[0].task, TaskId("t2"));
  EXPECT_EQ(kills[0].grace, Duration());
  EXPECT_EQ(registrations(), 0u);
  s_.tell(peer_, "t2", TaskState::kKilled, 2);
  EXPECT_EQ(registrations(), 1u);
  EXPECT_EQ(registered_tasks(s_), (Lines{"t1 running 1"}));
  s_.welcome();
  s_.pass_with_master(seconds(20));
  EXPECT_TRUE(s_.take<KillExecutor>().empty()) << "the other task runs on";
}

TEST_F(ForgottenInAShared, OneThatDoesNotEndIsEndedWithItsExecutor) {
  s_.pass(seconds(6));
  EXPECT_EQ(s_.take<KillExecutor>().size(), 1u);
  EXPECT_EQ(registrations(), 0u);
  s_.is_gone("workers");
  EXPECT_EQ(registrations(), 1u);
}

TEST_F(ForgottenInAShared, ANewConnectionChangesNothing) {
  s_.told_executors<proto::KillTask>();
  s_.step(ExecutorPeerLost{peer_});
  EXPECT_EQ(registrations(), 0u);
  s_.hello_with("workers", {.run = 1,
                            .tells_runs = true,
                            .runs = {{.task = TaskId("t1"), .run = 1, .acknowledged = 1},
                                     {.task = TaskId("t2"), .run = 1, .ended = true}}});
  EXPECT_EQ(registrations(), 1u);
}

// The record of its process, written before it is given anything, may be what the log has lost.
// Only a run without a process is known to have done nothing.
TEST(Recovery, OnlyATaskWhoseExecutorHadNoProcessIsRefused) {
  AgentScenario s;
  s.registered();
  s.run(command_task("t1"));
  for (const bool had_process : {false, true}) {
    restart(s);
    s.collect_starts();
    const std::vector<proto::CheckpointRecord> before = s.log;
    s.step(ExecutorExited{
        .framework = kBatch, .executor = ExecutorId("t1"), .run = 1, .had_process = had_process});
    const auto parts = s.told_master<proto::RegisterTasks>();
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(AgentScenario::line_of(parts[0].tasks.at(0).unacknowledged.back()),
              had_process ? "t1 1 lost agent_restarted" : "t1 1 refused agent_restarted");
    s.log = before;
  }
}

// What it cannot say any more may have been lost with a part of the log.
TEST(Recovery, AnAgentWhoseSharedExecutorHasEndedMayHaveForgotten) {
  AgentScenario s;
  s.registered();
  s.run(shared_task("t1"));
  s.tell(s.hello("workers"), "t1", TaskState::kRunning, 1);
  std::vector<uint32_t> memories;
  for (const bool is_there : {true, false}) {
    restart(s);
    is_there ? (void)s.comes_back("workers") : s.is_gone("workers");
    const auto told = s.told_master<proto::RegisterAgent>();
    ASSERT_EQ(told.size(), 1u);
    memories.push_back(told[0].memory);
  }
  EXPECT_NE(memories[0], memories[1]);
}

// An end with the number of the lost update would be taken for it, and heard by nobody.
TEST(Recovery, UpdatesThatTheCheckpointLostAreMadeAgainWithOtherNumbers) {
  AgentScenario s;
  s.registered();
  s.run(command_task("t1"));
  const PeerId first = s.hello("t1");
  const std::vector<proto::CheckpointRecord> before = s.log;
  s.tell(first, "t1", TaskState::kRunning, 1);
  s.restart({.records = before});
  s.tick();
  s.connect();
  s.is_found("t1");
  const PeerId peer = s.hello_with(
      "t1", {.run = 1,
             .tells_runs = true,
             .runs = {{.task = TaskId("t1"),
                       .run = 1,
                       .acknowledged = 1,
                       .status = proto::TaskStatus{
                           .task = TaskId("t1"), .state = TaskState::kRunning, .sequence = 1}}}});
  const auto parts = s.told_master<proto::RegisterTasks>();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].tasks.at(0).state, TaskState::kRunning);
  s.welcome();
  s.tell(peer, "t1", TaskState::kFinished, 2);
  const std::vector<proto::Update> told = s.told_master<proto::Update>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_GT(told[0].status.sequence, kUnsyncedMax);
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
