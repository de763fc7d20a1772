// An executor of commands runs one task after another, of one framework and user: which tasks it
// gets, when it is not used, and how a restarted agent finds it.

#include "tests/slave/agent_scenario.h"

namespace proffer::agent::spares_test {
namespace {

using proto::TaskState;
using scenario::AgentScenario;
using scenario::command_task;
using scenario::kBatch;
using Lines = std::vector<std::string>;

class Spares : public testing::Test {
 protected:
  Spares() { s_.registered(); }

  void ends(PeerId peer, const std::string& task, uint64_t sequence = 2) {
    s_.from_executor(peer, proto::ExecutorUpdate{.status = {.task = TaskId(task),
                                                            .state = TaskState::kFinished,
                                                            .sequence = sequence},
                                                 .takes_another = true});
    s_.acknowledge(task, 1);
    s_.acknowledge(task, 2);
  }
  // A task ran, and its executor waits for another one.
  PeerId spare(const std::string& task) {
    const PeerId peer = s_.running(task);
    ends(peer, task);
    s_.updates();
    s_.told_executors<proto::RunTask>();
    s_.take<StartExecutor>();
    return peer;
  }
  StartExecutor start_of(const std::string& task) {
    s_.run(command_task(task));
    const std::vector<StartExecutor> starts = s_.take<StartExecutor>();
    EXPECT_EQ(starts.size(), 1u);
    return starts.at(0);
  }
  // The process of `spare`, with the pid from hello().
  void goes_on(const StartExecutor& start, uint64_t first_run = 1) {
    s_.step(ExecutorStarted{.framework = start.framework,
                            .executor = start.executor,
                            .run = start.run,
                            .pid = 1000 + int32_t(first_run),
                            .start_ticks = 5,
                            .sandbox = "/sandboxes/" + start.executor.str()});
  }

  AgentScenario s_;
};

TEST_F(Spares, TheNextTaskGoesToTheExecutorOfTheLast) {
  const PeerId peer = spare("t1");
  const StartExecutor start = start_of("t2");
  ASSERT_TRUE(start.spare);
  EXPECT_EQ(start.spare->executor, ExecutorId("t1"));
  EXPECT_EQ(start.spare->run, 1u);
  EXPECT_EQ(start.run, 2u);
  EXPECT_EQ(start.token, s_.started("t1").token);
  EXPECT_TRUE(s_.told_executors<proto::RunTask>().empty()) << "given before its sandbox is there";

  goes_on(start);
  const std::vector<proto::RunTask> given = s_.told_executors<proto::RunTask>();
  ASSERT_EQ(given.size(), 1u);
  EXPECT_EQ(given[0].spec.id, TaskId("t2"));
  EXPECT_EQ(given[0].becomes, (proto::ExecutorPlace{ExecutorId("t2"), "/sandboxes/t2"}));
  EXPECT_EQ(s_.core->executor_of(peer), std::pair(kBatch, ExecutorId("t2")));

  s_.tell(peer, "t2", TaskState::kRunning, 1);
  ends(peer, "t2");
  EXPECT_EQ(s_.updates(), (Lines{"t2 1 running none", "t2 2 finished none"}));
  EXPECT_EQ(start_of("t3").spare->executor, ExecutorId("t2"));
}

TEST_F(Spares, OneThatDoesNotOfferItselfLeavesAsBefore) {
  const PeerId peer = s_.running("t1");
  s_.tell(peer, "t1", TaskState::kFinished, 2);
  s_.take<StartExecutor>();
  EXPECT_FALSE(start_of("t2").spare);
  EXPECT_TRUE(s_.told_executors<proto::ExecutorShutdown>().empty());
}

TEST_F(Spares, NothingIsSharedBeyondOneFrameworkAndOneUser) {
  spare("t1");
  proto::RunTask other = command_task("t2");
  other.framework = FrameworkId("batch-1-2");
  s_.run(other);
  EXPECT_FALSE(s_.take<StartExecutor>().at(0).spare);

  proto::RunTask program = command_task("t3");
  program.spec.executor = "exec ./mine";
  s_.run(program);
  EXPECT_FALSE(s_.take<StartExecutor>().at(0).spare);

  proto::RunTask shared = command_task("t4");
  shared.spec.executor_id = ExecutorId("shared");
  s_.run(shared);
  EXPECT_FALSE(s_.take<StartExecutor>().at(0).spare);

  EXPECT_TRUE(start_of("t5").spare);
}

TEST_F(Spares, TheSpareOfAnotherUserIsNotUsed) {
  AgentScenario s;
  s.options.user = "root";
  s.options.is_root = true;
  s.restart({});
  s.registered();
  proto::RunTask task = command_task("t1");
  task.assignment.user = "ann";
  s.user = "ann";
  s.run(task);
  const PeerId peer = s.hello("t1");
  s.from_executor(
      peer, proto::ExecutorUpdate{
                .status = {.task = TaskId("t1"), .state = TaskState::kFinished, .sequence = 1},
                .takes_another = true});
  s.take<StartExecutor>();
  task.spec.id = TaskId("t2");
  task.assignment.user = "bob";
  s.run(task);
  EXPECT_FALSE(s.take<StartExecutor>().at(0).spare);
  task.spec.id = TaskId("t3");
  task.assignment.user = "ann";
  s.run(task);
  EXPECT_TRUE(s.take<StartExecutor>().at(0).spare);
}

TEST_F(Spares, TasksWithFilesToFetchStartAProcess) {
  spare("t1");
  proto::RunTask task = command_task("t2");
  task.spec.fetch = {{.uri = "file:///a"}};
  s_.run(task);
  ASSERT_EQ(s_.take<FetchFiles>().size(), 1u);
  s_.step(FilesFetched{kBatch, ExecutorId("t2"), 2, ""});
  EXPECT_FALSE(s_.take<StartExecutor>().at(0).spare);
}

TEST_F(Spares, OneForWhichNothingComesIsAskedToLeave) {
  spare("t1");
  s_.pass_with_master(seconds(2));
  EXPECT_EQ(s_.told_executors<proto::ExecutorShutdown>().size(), 1u);
  EXPECT_FALSE(start_of("t2").spare);
  s_.exits("t1");
  EXPECT_EQ(s_.core->status().executors.size(), 1u);
}

TEST_F(Spares, OneThatDoesNotLeaveIsKilled) {
  spare("t1");
  s_.pass_with_master(seconds(8));
  EXPECT_EQ(s_.take<KillExecutor>().size(), 1u);
}

TEST_F(Spares, WhereTheyCannotBeUsedTheyAreAskedToLeaveAtOnce) {
  s_.options.reuses_executors = false;
  s_.restart({});
  s_.registered();
  spare("t1");
  EXPECT_EQ(s_.told_executors<proto::ExecutorShutdown>().size(), 1u);
  EXPECT_FALSE(start_of("t2").spare);
}

TEST_F(Spares, OneThatCannotGoOnIsReplaced) {
  const PeerId old = spare("t1");
  const StartExecutor first = start_of("t2");
  s_.step(SpareRefused{first.framework, first.executor, first.run, *first.spare});
  const std::vector<StartExecutor> starts = s_.take<StartExecutor>();
  ASSERT_EQ(starts.size(), 1u);
  const StartExecutor& start = starts[0];
  EXPECT_FALSE(start.spare);
  ASSERT_TRUE(start.in_place_of);
  EXPECT_EQ(start.in_place_of->executor, ExecutorId("t1"));
  EXPECT_EQ(start.in_place_of->run, 1u);
  goes_on(start, 77);  // another pid
  const std::vector<DropExecutorPeer> dropped = s_.take<DropExecutorPeer>();
  ASSERT_EQ(dropped.size(), 1u);
  EXPECT_EQ(dropped[0].peer, old);
  EXPECT_TRUE(s_.told_executors<proto::RunTask>().empty());
  s_.hello_again("t2");
  const std::vector<proto::RunTask> given = s_.told_executors<proto::RunTask>();
  ASSERT_EQ(given.size(), 1u);
  EXPECT_FALSE(given[0].becomes) << "it was started as this executor";
}

// Found by the simulator: an agent that had been frozen got the launch and the kill at once.
TEST_F(Spares, OneThatIsRefusedAfterItsTaskWasKilledIsEnded) {
  spare("t1");
  const StartExecutor start = start_of("t2");
  s_.kill("t2");
  s_.take<KillExecutor>();
  s_.step(SpareRefused{start.framework, start.executor, start.run, *start.spare});
  EXPECT_TRUE(s_.take<StartExecutor>().empty());
  const std::vector<KillExecutor> kills = s_.take<KillExecutor>();
  ASSERT_EQ(kills.size(), 1u);
  EXPECT_EQ(kills[0].executor, ExecutorId("t1"));
  EXPECT_TRUE(s_.core->status().executors.empty());
}

// The spare is killed before another process exists; an agent that is killed in between knows that
// the task never began.
TEST_F(Spares, ATaskWhoseSpareWasRefusedIsRefusedByARestartedAgent) {
  spare("t1");
  const StartExecutor start = start_of("t2");
  s_.step(SpareRefused{start.framework, start.executor, start.run, *start.spare});
  s_.crash_and_restart();
  s_.tick();
  s_.connect();
  s_.step(ExecutorExited{.framework = kBatch, .executor = start.executor, .run = start.run});
  const auto parts = s_.told_master<proto::RegisterTasks>();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(AgentScenario::line_of(parts[0].tasks.at(0).unacknowledged.back()),
            "t2 1 refused agent_restarted");
}

TEST_F(Spares, ARestartedAgentGivesTheTaskToTheProcessThatHasNotHeardOfIt) {
  spare("t1");
  const StartExecutor start = start_of("t2");
  s_.crash_and_restart();
  s_.tick();
  const std::vector<AdoptExecutor> looked_for = s_.take<AdoptExecutor>();
  ASSERT_EQ(looked_for.size(), 1u);
  EXPECT_EQ(looked_for[0].executor.executor, ExecutorId("t2"));
  EXPECT_EQ(looked_for[0].executor.pid, 1001) << "that of the first task's executor";
  goes_on(start);
  const PeerId peer = s_.hello_with("t1", {.run = 1, .tells_runs = true});
  const std::vector<proto::RunTask> given = s_.told_executors<proto::RunTask>();
  ASSERT_EQ(given.size(), 1u);
  EXPECT_EQ(given[0].becomes, (proto::ExecutorPlace{ExecutorId("t2"), "/sandboxes/t2"}));
  EXPECT_EQ(s_.take<LimitExecutor>().size(), 1u) << "its group has the limits of the last task";
  s_.tell(peer, "t2", TaskState::kRunning, 1);
  EXPECT_EQ(s_.core->status().tasks, 1);
}

TEST_F(Spares, ARestartedAgentAsksItsSparesToLeave) {
  spare("t1");
  s_.crash_and_restart();
  s_.tick();
  s_.is_found("t1");
  s_.hello_again("t1");
  EXPECT_EQ(s_.told_executors<proto::ExecutorShutdown>().size(), 1u);
  s_.connect();
  s_.welcome();
  EXPECT_FALSE(start_of("t2").spare);
}

TEST_F(Spares, AnExecutorOfAnEarlierLifeIsNotKept) {
  s_.running("t1");
  s_.take<StartExecutor>();
  s_.crash_and_restart();
  s_.tick();
  const PeerId peer = s_.comes_back("t1");
  s_.connect();
  s_.welcome();
  ends(peer, "t1");
  EXPECT_EQ(s_.told_executors<proto::ExecutorShutdown>().size(), 1u);
  EXPECT_FALSE(start_of("t2").spare);
}

TEST_F(Spares, OneThatLostItsConnectionIsNotUsed) {
  const PeerId peer = spare("t1");
  s_.step(ExecutorPeerLost{peer});
  EXPECT_FALSE(start_of("t2").spare);
  s_.hello_again("t1");
  EXPECT_EQ(s_.told_executors<proto::ExecutorShutdown>().size(), 1u);
}

TEST_F(Spares, OneThatLosesItsConnectionOnItsWayIsGivenItsTaskWhenItIsBack) {
  const PeerId peer = spare("t1");
  const StartExecutor start = start_of("t2");
  s_.step(ExecutorPeerLost{peer});
  s_.hello_again("t1");
  EXPECT_TRUE(s_.told_executors<proto::RunTask>().empty()) << "given before its sandbox is there";
  goes_on(start);
  const std::vector<proto::RunTask> given = s_.told_executors<proto::RunTask>();
  ASSERT_EQ(given.size(), 1u);
  EXPECT_TRUE(given[0].becomes);
}

TEST_F(Spares, ATaskThatIsKilledOnItsWayEndsTheProcess) {
  spare("t1");
  const StartExecutor start = start_of("t2");
  s_.kill("t2");
  EXPECT_EQ(s_.updates(), (Lines{"t2 1 killed killed_by_scheduler"}));
  const std::vector<KillExecutor> killed = s_.take<KillExecutor>();
  ASSERT_EQ(killed.size(), 1u);
  EXPECT_EQ(killed[0].executor, ExecutorId("t2"));
  EXPECT_EQ(killed[0].run, start.run);
  goes_on(start);
  EXPECT_TRUE(s_.told_executors<proto::RunTask>().empty());
  s_.exits("t2");
  EXPECT_TRUE(s_.core->status().executors.empty());
}

TEST_F(Spares, ASpareThatCannotBeStartedAsTheNextFailsOnlyThatTask) {
  spare("t1");
  const StartExecutor start = start_of("t2");
  s_.step(ExecutorStartFailed{start.framework, start.executor, start.run,
                              Error::resource_exhausted("the disk is full")});
  EXPECT_EQ(s_.updates(), (Lines{"t2 1 failed launch_failed"}));
  EXPECT_TRUE(s_.core->status().executors.empty());
}

TEST_F(Spares, ATaskWithTheIdOfTheLastOneWaitsForItsExecutorToLeave) {
  spare("t1");
  s_.run(command_task("t1"));
  EXPECT_TRUE(s_.take<StartExecutor>().empty());
  EXPECT_EQ(s_.told_executors<proto::ExecutorShutdown>().size(), 1u);
  s_.exits("t1");
  EXPECT_FALSE(s_.take<StartExecutor>().at(0).spare);
}

TEST_F(Spares, TheyEndWithTheirFramework) {
  spare("t1");
  s_.from_master(proto::ShutdownFramework{kBatch});
  EXPECT_EQ(s_.told_executors<proto::ExecutorShutdown>().size(), 1u);
}

TEST_F(Spares, TheyEndWithTheirAgent) {
  spare("t1");
  s_.step(StopAsked{.kill_tasks = true});
  EXPECT_EQ(s_.told_executors<proto::ExecutorShutdown>().size(), 1u);
  EXPECT_TRUE(s_.take<Exit>().empty());
  s_.exits("t1");
  EXPECT_EQ(s_.take<Exit>().size(), 1u);
}

TEST_F(Spares, AnAgentThatLeavesItsTasksRunningEndsThemFirst) {
  s_.running("t2");
  s_.take<StartExecutor>();
  spare("t1");
  s_.step(StopAsked{});
  ASSERT_EQ(s_.take<KillExecutor>().size(), 1u);
  EXPECT_TRUE(s_.take<Exit>().empty());
  s_.run(command_task("t3"));
  EXPECT_TRUE(s_.take<StartExecutor>().empty());
  s_.exits("t1");
  EXPECT_EQ(s_.take<Exit>().size(), 1u);
}

TEST_F(Spares, AFullAgentDoesNotCountThem) {
  s_.options.executors_max = 1;
  s_.restart({});
  s_.registered();
  spare("t1");
  proto::RunTask other = command_task("t2");
  other.framework = FrameworkId("batch-1-2");
  s_.run(other);
  EXPECT_EQ(s_.take<StartExecutor>().size(), 1u);
  EXPECT_EQ(s_.told_executors<proto::ExecutorShutdown>().size(), 1u) << "it makes room";
}

TEST_F(Spares, OnlySoManyAreKept) {
  AgentScenario s("cpus:100;mem:10000");
  s.registered();
  std::vector<PeerId> peers;
  for (int i = 0; i < 65; ++i) {
    const std::string task = "t" + std::to_string(i);
    peers.push_back(s.running(task));
  }
  for (int i = 0; i < 65; ++i) {
    EXPECT_TRUE(s.told_executors<proto::ExecutorShutdown>().empty());
    s.from_executor(peers[size_t(i)],
                    proto::ExecutorUpdate{.status = {.task = TaskId("t" + std::to_string(i)),
                                                     .state = TaskState::kFinished,
                                                     .sequence = 2},
                                          .takes_another = true});
  }
  const std::vector<SendToExecutor> sent = s.take<SendToExecutor>();
  size_t asked = 0;
  for (const SendToExecutor& send : sent) {
    if (!std::holds_alternative<proto::ExecutorShutdown>(*send.envelope.message)) continue;
    ++asked;
    EXPECT_EQ(send.peer, peers[0]) << "the one that waited longest";
  }
  EXPECT_EQ(asked, 1u);
}

}  // namespace
}  // namespace proffer::agent::spares_test
