// From RunTask to the acknowledged end of a task, and all refusals of a launch.

#include "tests/slave/agent_scenario.h"

namespace proffer::agent::launch_test {
namespace {

using proto::TaskState;
using scenario::AgentScenario;
using scenario::command_task;
using scenario::kBatch;
using Lines = std::vector<std::string>;

TEST(Launch, RunsATaskFromItsLaunchToTheAcknowledgementOfItsEnd) {
  AgentScenario s;
  s.registered();

  s.run(command_task("t1"));
  const std::vector<StartExecutor> starts = s.take<StartExecutor>();
  ASSERT_EQ(starts.size(), 1u);
  EXPECT_EQ(starts[0].executor, ExecutorId("t1"));
  EXPECT_EQ(starts[0].program, proto::kCommandExecutor);
  EXPECT_EQ(s.core->status().used, ResourceVector::of(1000, 64'000));

  const PeerId peer = s.hello("t1");
  EXPECT_EQ(s.told_executors<proto::ExecutorWelcome>().size(), 1u);
  EXPECT_EQ(s.told_executors<proto::RunTask>().size(), 1u);

  s.tell(peer, "t1", TaskState::kRunning, 1);
  s.tell(peer, "t1", TaskState::kFinished, 2);
  EXPECT_EQ(s.told_executors<proto::Acknowledge>().size(), 2u);
  EXPECT_EQ(s.updates(), (Lines{"t1 1 running none", "t1 2 finished none"}));
  EXPECT_TRUE(s.core->status().used.is_zero());

  s.exits("t1");
  s.acknowledge("t1", 1);
  s.acknowledge("t1", 2);
  EXPECT_TRUE(s.updates().empty());
  EXPECT_EQ(s.core->status().updates_unacknowledged, 0);
  EXPECT_TRUE(s.core->status().executors.empty());
}

TEST(Launch, WritesTheTaskAndTheExecutorBeforeItIsStarted) {
  AgentScenario s;
  s.registered();
  const size_t before = s.log.size();
  s.run(command_task("t1"));
  ASSERT_EQ(s.log.size(), before + 2);
  EXPECT_TRUE(std::holds_alternative<proto::TaskRecord>(s.log[before]));
  const auto& executor = std::get<proto::ExecutorRecord>(s.log[before + 1]);
  EXPECT_EQ(executor.pid, 0);
  EXPECT_EQ(executor.boot_id, "boot-1");
  s.collect_starts();
  s.is_found("t1");
  ASSERT_EQ(s.log.size(), before + 2) << "a process that was given nothing";
  s.hello("t1");
  EXPECT_EQ(std::get<proto::ExecutorRecord>(s.log.back()).pid, 1001);
}

TEST(Launch, IsRefusedIfAnotherProcessListensOnItsPort) {
  AgentScenario s;
  s.registered();
  s.busy_ports = PortSet({{31005, 31005}});
  s.run(command_task("t1"));
  EXPECT_EQ(s.updates(), (Lines{"t1 1 refused ports_not_available"}));
  EXPECT_TRUE(s.take<StartExecutor>().empty());
  s.busy_ports = {};
  s.run(command_task("t2"));
  EXPECT_EQ(s.take<StartExecutor>().size(), 1u);
  // A repeated launch is the same task, which may listen on the port by now.
  s.busy_ports = PortSet({{31005, 31005}});
  s.run(command_task("t2"));
  EXPECT_TRUE(s.updates().empty());
}

TEST(Launch, IgnoresARepeatedLaunch) {
  AgentScenario s;
  s.registered();
  s.run(command_task("t1"));
  s.take<StartExecutor>();
  s.run(command_task("t1"));
  EXPECT_TRUE(s.take<StartExecutor>().empty());
  EXPECT_TRUE(s.updates().empty());
}

TEST(Launch, AnUpdateThatComesTwiceIsToldOnceAndAcknowledgedTwice) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  s.updates();
  s.told_executors<proto::Acknowledge>();
  s.tell(peer, "t1", TaskState::kRunning, 1);
  EXPECT_TRUE(s.updates().empty());
  EXPECT_EQ(s.told_executors<proto::Acknowledge>().size(), 1u);
}

TEST(Launch, TasksWithOneExecutorIdShareIt) {
  AgentScenario s;
  s.registered();
  for (const char* id : {"m1", "m2"}) {
    proto::RunTask task = command_task(id);
    task.spec.executor = proto::kBatchExecutor;
    task.spec.executor_id = ExecutorId("workers");
    s.run(task);
  }
  EXPECT_EQ(s.take<StartExecutor>().size(), 1u);
  const PeerId peer = s.hello("workers");
  EXPECT_EQ(s.told_executors<proto::RunTask>().size(), 2u);
  s.tell(peer, "m1", TaskState::kRunning, 1);
  s.tell(peer, "m1", TaskState::kFinished, 2);
  // The executor waits for another task.
  EXPECT_TRUE(s.told_executors<proto::ExecutorShutdown>().empty());
  proto::RunTask third = command_task("m3");
  third.spec.executor = proto::kBatchExecutor;
  third.spec.executor_id = ExecutorId("workers");
  s.run(third);
  EXPECT_EQ(s.told_executors<proto::RunTask>().size(), 1u);
}

TEST(Launch, AShellThatFindsNoProgramForAnExecutorIsToldAsThat) {
  AgentScenario s;
  s.registered();
  proto::RunTask task = command_task("t1");
  task.spec.executor = "exec prime_executor";
  task.spec.executor_id = ExecutorId("primes");
  s.run(task);
  s.exits("primes", 127);
  EXPECT_EQ(s.updates(), (Lines{"t1 1 failed launch_failed"}));
  // An executor that has said hello exists: 127 is its own exit code.
  s.acknowledge("t1", 1);
  task.spec.id = TaskId("t2");
  s.run(task);
  s.hello("primes");
  s.exits("primes", 127);
  EXPECT_EQ(s.updates(), (Lines{"t2 1 failed executor_ended"}));
}

TEST(Launch, ATaskIdUsedAgainWaitsForTheOldExecutorToLeave) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  s.tell(peer, "t1", TaskState::kFinished, 2);
  s.acknowledge("t1", 2);
  s.take<StartExecutor>();
  s.run(command_task("t1"));
  EXPECT_TRUE(s.take<StartExecutor>().empty());
  s.exits("t1");
  const std::vector<StartExecutor> starts = s.take<StartExecutor>();
  ASSERT_EQ(starts.size(), 1u);
  EXPECT_EQ(starts[0].run, 2u);
}

TEST(Launch, RunsRiseAlsoOverRestarts) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  s.tell(peer, "t1", TaskState::kFinished, 2);
  s.exits("t1");
  s.acknowledge("t1", 2);
  s.restart(s.core->snapshot());
  s.registered();
  s.run(command_task("t1"));
  EXPECT_EQ(s.take<StartExecutor>().at(0).run, 2u);
}

TEST(Launch, AnExecutorOfItsOwnThatDoesNotLeaveIsKilled) {
  AgentScenario s;
  s.registered();
  proto::RunTask task = command_task("t1");
  task.spec.executor = "exec my-executor";
  s.run(task);
  const PeerId peer = s.hello("t1");
  s.tell(peer, "t1", TaskState::kFinished, 1);
  EXPECT_EQ(s.told_executors<proto::ExecutorShutdown>().size(), 1u);
  s.pass(seconds(4));
  EXPECT_TRUE(s.take<KillExecutor>().empty());
  s.pass(seconds(2));
  EXPECT_EQ(s.take<KillExecutor>().size(), 1u);
}

struct Refused {
  const char* what;
  proto::RunTask task;
  const char* reason;
};

std::vector<Refused> refused_launches() {
  std::vector<Refused> rows;
  rows.push_back({"more cpus than there are", command_task("x", "cpus:3.5"), "resources_exceeded"});
  rows.push_back({"ports of another task", command_task("x", "cpus:1;ports:[31000-31000]"),
                  "resources_exceeded"});
  rows.push_back({"ports that are not here", command_task("x", "cpus:1;ports:[40000-40000]"),
                  "resources_exceeded"});
  rows.push_back({"gpus without devices", command_task("x", "gpus:1"), "task_invalid"});
  rows.push_back({"an empty command", command_task("x"), "task_invalid"});
  rows.back().task.spec.command.clear();
  rows.push_back({"an unknown builtin", command_task("x"), "task_invalid"});
  rows.back().task.spec.executor = "builtin:nothing";
  rows.push_back({"the executor of another task's own", command_task("x"), "task_invalid"});
  rows.back().task.spec.executor_id = ExecutorId("t0");
  return rows;
}

TEST(Launch, EveryRefusedLaunchHasATerminalUpdateWithAReason) {
  for (const Refused& row : refused_launches()) {
    SCOPED_TRACE(row.what);
    AgentScenario s;
    s.registered();
    s.run(command_task("t0", "cpus:1;ports:[31000-31000]"));
    s.hello("t0");
    s.take<StartExecutor>();
    s.run(row.task);
    EXPECT_EQ(s.updates(), (Lines{std::string("x 1 refused ") + row.reason}));
    EXPECT_TRUE(s.take<StartExecutor>().empty());
    s.acknowledge("x", 1);
    EXPECT_EQ(s.core->status().updates_unacknowledged, 0);
  }
}

TEST(Launch, ExecutorLimitStopsNewExecutorsButNotASharedOne) {
  AgentScenario s;
  s.options.executors_max = 2;
  s.crash_and_restart();
  s.registered();
  proto::RunTask shared = command_task("t1");
  shared.spec.executor = proto::kBatchExecutor;
  shared.spec.executor_id = ExecutorId("workers");
  s.run(shared);
  s.running("t2");
  s.run(command_task("t3"));
  shared.spec.id = TaskId("t4");
  s.run(shared);
  EXPECT_EQ(s.updates(), (Lines{"t2 1 running none", "t3 1 refused agent_full"}));
  s.exits("t2");
  s.take<StartExecutor>();
  s.run(command_task("t5"));
  EXPECT_EQ(s.updates(), (Lines{"t2 2 failed executor_ended"}));
  EXPECT_EQ(s.take<StartExecutor>().size(), 1u);
}

proto::RunTask task_of(const std::string& user, const std::string& id,
                       const std::string& executor = "") {
  proto::RunTask task = command_task(id);
  task.assignment.user = user;
  if (executor.empty()) return task;
  task.spec.executor = "./serve";
  task.spec.executor_id = ExecutorId(executor);
  return task;
}

TEST(Launch, AnAgentThatIsNotRootRunsOnlyTheTasksOfItsUser) {
  for (const bool is_root : {true, false}) {
    AgentScenario s;
    s.options.user = "ada";
    s.options.is_root = is_root;
    s.crash_and_restart();
    s.registered();
    s.run(task_of("ada", "t1"));
    s.run(task_of("bob", "t2"));
    s.run(task_of("", "t3"));
    std::vector<std::string> users;
    for (const StartExecutor& start : s.take<StartExecutor>()) users.push_back(start.user);
    EXPECT_EQ(users, is_root ? (Lines{"ada", "bob"}) : (Lines{"ada"}));
    EXPECT_EQ(s.updates(), is_root
                               ? (Lines{"t3 1 refused task_invalid"})
                               : (Lines{"t2 1 refused task_invalid", "t3 1 refused task_invalid"}));
  }
}

TEST(Launch, AnExecutorIsOfOneUser) {
  AgentScenario s;
  s.options.user = "root";
  s.options.is_root = true;
  s.crash_and_restart();
  s.registered();
  s.run(task_of("ada", "t1", "shared"));
  s.run(task_of("bob", "t2", "shared"));
  EXPECT_EQ(s.updates(), (Lines{"t2 1 refused task_invalid"}));
  s.run(task_of("ada", "t3", "shared"));
  EXPECT_TRUE(s.updates().empty());
}

// Another process may have read the token; the user from the kernel cannot be forged.
TEST(Launch, AnExecutorSpeaksOnlyAsItsUser) {
  AgentScenario s;
  s.options.user = "root";
  s.options.is_root = true;
  s.crash_and_restart();
  s.registered();
  s.run(task_of("ada", "t1"));
  s.user = "bob";
  s.hello("t1");
  EXPECT_TRUE(s.told_executors<proto::RunTask>().empty());
  EXPECT_EQ(s.told_executors<proto::ErrorMessage>().size(), 1u);
  s.user = "ada";
  s.hello_again("t1");
  EXPECT_EQ(s.told_executors<proto::RunTask>().size(), 1u);
}

TEST(Launch, AnExecutorThatCannotBeStartedFailsItsTask) {
  AgentScenario s;
  s.registered();
  s.run(command_task("t1"));
  const StartExecutor start = s.take<StartExecutor>().at(0);
  s.step(ExecutorStartFailed{start.framework, start.executor, start.run,
                             Error::resource_exhausted("no more processes")});
  const std::vector<proto::Update> updates = s.told_master<proto::Update>();
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_EQ(AgentScenario::line_of(updates[0].status), "t1 1 failed launch_failed");
  EXPECT_NE(updates[0].status.message.find("no more processes"), std::string::npos);
}

TEST(Launch, AnExecutorThatNeverSaysHelloFailsItsTask) {
  AgentScenario s;
  s.registered();
  s.run(command_task("t1"));
  s.pass_with_master(seconds(59));
  EXPECT_TRUE(s.updates().empty());
  s.pass_with_master(seconds(2));
  EXPECT_EQ(s.updates(), (Lines{"t1 1 failed executor_timeout"}));
  EXPECT_EQ(s.take<KillExecutor>().size(), 1u);
  s.exits("t1", 1);
  EXPECT_TRUE(s.core->status().executors.empty());
}

TEST(Launch, TasksEndWithTheirExecutor) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.updates();
  s.exits("t1", 3);
  const std::vector<proto::Update> updates = s.told_master<proto::Update>();
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_EQ(AgentScenario::line_of(updates[0].status), "t1 2 failed executor_ended");
  EXPECT_EQ(updates[0].status.exit_code, 3);
}

TEST(Launch, UpdatesThatNobodyAcknowledgesAreBoundedButTheEndIsTold) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  for (uint64_t i = 2; i < 200; ++i) s.tell(peer, "t1", TaskState::kRunning, i);
  s.tell(peer, "t1", TaskState::kFinished, 200);
  const Lines updates = s.updates();
  EXPECT_EQ(updates.size(), kUpdatesPerTaskMax);
  EXPECT_EQ(updates.back(), "t1 64 finished none");
}

TEST(Launch, AnExecutorIsStartedWithTheGpusOfItsTasks) {
  AgentScenario s("cpus:4;mem:1024;gpus:[0,2-3]");
  s.registered();
  proto::RunTask run = command_task("t1");
  run.assignment.resources +=
      Resources{.amounts = ResourceVector::of(0, 0, 0, 1'300), .gpus = {{0, 300}, {3, 1'000}}};
  s.run(run);
  const std::vector<StartExecutor> starts = s.take<StartExecutor>();
  ASSERT_EQ(starts.size(), 1u);
  EXPECT_EQ(starts[0].gpus, (std::vector<GpuDevice>{{0, 300}, {3, 1'000}}));
}

}  // namespace
}  // namespace proffer::agent::launch_test
