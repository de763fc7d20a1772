// An executor's limits as its tasks come and go, and reports of tasks that needed more memory.

#include <gmock/gmock.h>

#include "tests/slave/agent_scenario.h"

namespace proffer::agent::limits_test {
namespace {

using proto::TaskState;
using scenario::AgentScenario;
using scenario::command_task;
using scenario::kBatch;
using testing::HasSubstr;

constexpr int64_t kMebi = int64_t{1} << 20;
constexpr OutOfMemory kTooMuch{.limit_bytes = 96 * kMebi, .peak_bytes = 96 * kMebi - kMebi / 2};

proto::RunTask shared_task(std::string id, std::string_view resources) {
  proto::RunTask run = command_task(std::move(id), resources);
  run.spec.executor = "exec ./mine";
  run.spec.executor_id = ExecutorId("shared");
  return run;
}

proto::TaskStatus told_at_last(AgentScenario& s) {
  const std::vector<proto::Update> updates = s.told_master<proto::Update>();
  return updates.empty() ? proto::TaskStatus() : updates.back().status;
}

TEST(Limits, AnExecutorMayUseWhatItsTasksAskedFor) {
  AgentScenario s;
  s.registered();
  s.run(shared_task("t1", "cpus:1;mem:64"));
  const std::vector<StartExecutor> starts = s.take<StartExecutor>();
  ASSERT_EQ(starts.size(), 1u);
  EXPECT_EQ(starts[0].resources, ResourceVector::of(1000, 64'000));
  s.starts.push_back(starts[0]);
  const PeerId peer = s.hello("shared");

  s.run(shared_task("t2", "cpus:0.5;mem:32"));
  std::vector<LimitExecutor> limits = s.take<LimitExecutor>();
  ASSERT_EQ(limits.size(), 1u);
  EXPECT_EQ(limits[0].run, starts[0].run);
  EXPECT_EQ(limits[0].resources, ResourceVector::of(1500, 96'000));

  s.tell(peer, "t1", TaskState::kRunning, 1);
  s.tell(peer, "t1", TaskState::kFinished, 2);
  limits = s.take<LimitExecutor>();
  ASSERT_EQ(limits.size(), 1u);
  EXPECT_EQ(limits[0].resources, ResourceVector::of(500, 32'000));
}

TEST(Limits, ATaskIsGivenRoomBeforeItIsStarted) {
  AgentScenario s;
  s.registered();
  s.run(shared_task("t1", "cpus:1;mem:64"));
  s.hello("shared");
  s.actions.clear();
  s.run(shared_task("t2", "cpus:0.5;mem:32"));
  ASSERT_GE(s.actions.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<LimitExecutor>(s.actions[0]));
  EXPECT_TRUE(std::holds_alternative<SendToExecutor>(s.actions[1]));
}

// The kernel chooses the process that it kills: the message is the same.
TEST(Limits, WantOfMemoryIsToldAlikeWhetherTheTaskOrItsExecutorWasEnded) {
  const auto fails = [](AgentScenario& s, PeerId peer, std::optional<OutOfMemory> memory) {
    proto::TaskStatus status{.task = TaskId("t1"),
                             .state = TaskState::kFailed,
                             .reason = proto::TaskReason::kCommandSignalled,
                             .sequence = 2,
                             .message = "the command was ended by signal 9 (SIGKILL)",
                             .signal = 9};
    s.step(ExecutorFrame{
        .peer = peer,
        .envelope = s.peers[peer].stamp(LeaderEpoch(), proto::ExecutorUpdate{std::move(status)}),
        .out_of_memory = memory});
  };
  AgentScenario task_ended;
  task_ended.registered();
  fails(task_ended, task_ended.running("t1"), kTooMuch);
  const proto::TaskStatus first = told_at_last(task_ended);

  AgentScenario executor_ended;
  executor_ended.registered();
  executor_ended.running("t1");
  executor_ended.step(ExecutorExited{.framework = kBatch,
                                     .executor = ExecutorId("t1"),
                                     .run = 1,
                                     .signal = 9,
                                     .out_of_memory = kTooMuch});
  const proto::TaskStatus second = told_at_last(executor_ended);

  for (const proto::TaskStatus& told : {first, second}) {
    EXPECT_EQ(told.state, TaskState::kFailed);
    EXPECT_EQ(told.reason, proto::TaskReason::kOutOfMemory);
    EXPECT_EQ(told.signal, 9);
    EXPECT_THAT(told.message, HasSubstr("may use 96 MiB"));
    EXPECT_THAT(told.message, HasSubstr("used up to 95.5 MiB"));
  }
  EXPECT_EQ(first.message, second.message);

  // Killed by someone else.
  AgentScenario killed;
  killed.registered();
  fails(killed, killed.running("t1"), std::nullopt);
  EXPECT_EQ(told_at_last(killed).reason, proto::TaskReason::kCommandSignalled);
}

// The executor is dead, so only its standard error can explain the end.
TEST(Limits, OfATaskWhoseExecutorEndedTheEndOfItsStandardErrorIsTold) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.step(ExecutorExited{.framework = kBatch,
                        .executor = ExecutorId("t1"),
                        .run = 1,
                        .signal = 9,
                        .stderr_tail = "the disk is on fire"});
  const proto::TaskStatus told = told_at_last(s);
  EXPECT_EQ(told.state, TaskState::kFailed);
  EXPECT_EQ(told.reason, proto::TaskReason::kExecutorEnded);
  EXPECT_EQ(told.data, "the disk is on fire");
}

TEST(Limits, AKilledTaskIsKilledWhateverMemoryItUsed) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.kill("t1");
  s.step(ExecutorExited{.framework = kBatch,
                        .executor = ExecutorId("t1"),
                        .run = 1,
                        .signal = 9,
                        .out_of_memory = kTooMuch});
  const proto::TaskStatus told = told_at_last(s);
  EXPECT_EQ(told.state, TaskState::kKilled);
  EXPECT_EQ(told.reason, proto::TaskReason::kKilledByScheduler);
}

TEST(Usage, IsToldWithTheEndOfATaskThatHasItsExecutorForItself) {
  const proto::TaskUsage used{.cpu_nanos = 1'500'000'000, .memory_peak_bytes = 9 << 20};
  const auto ends = [&](AgentScenario& s, PeerId peer, TaskState state) {
    proto::TaskStatus status{.task = TaskId("t1"), .state = state, .sequence = 2};
    // The executor's own figure does not count.
    status.usage = proto::TaskUsage{.cpu_nanos = 7};
    s.step(ExecutorFrame{
        .peer = peer,
        .envelope = s.peers[peer].stamp(LeaderEpoch(), proto::ExecutorUpdate{std::move(status)}),
        .usage = used});
  };
  AgentScenario own;
  own.registered();
  ends(own, own.running("t1"), TaskState::kFinished);
  EXPECT_EQ(told_at_last(own).usage, used);

  AgentScenario still_runs;
  still_runs.registered();
  ends(still_runs, still_runs.running("t1"), TaskState::kRunning);
  EXPECT_EQ(told_at_last(still_runs).usage, std::nullopt);

  AgentScenario shared;
  shared.registered();
  shared.run(shared_task("t1", "cpus:1;mem:64"));
  ends(shared, shared.hello("shared"), TaskState::kFinished);
  EXPECT_EQ(told_at_last(shared).state, TaskState::kFinished);
  EXPECT_EQ(told_at_last(shared).usage, std::nullopt);
}

TEST(Usage, IsToldOfATaskWhoseExecutorEnded) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  const proto::TaskUsage used{.cpu_nanos = 3, .out_of_memory = 1};
  s.step(ExecutorExited{
      .framework = kBatch, .executor = ExecutorId("t1"), .run = 1, .signal = 9, .usage = used});
  EXPECT_EQ(told_at_last(s).usage, used);
}

TEST(Limits, TheMasterHearsWhatIsEnforced) {
  AgentScenario s;
  s.options.limits = "cpu, pids (cgroups v1); not enforced: memory (not mounted)";
  s.restart({});
  s.tick();
  s.connect();
  const std::vector<proto::RegisterAgent> told = s.told_master<proto::RegisterAgent>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].limits, s.options.limits);
  EXPECT_EQ(s.core->status().limits, s.options.limits);
}

OutOfDisk over_disk(const std::string& task, uint64_t run) {
  return {.framework = kBatch,
          .task = TaskId(task),
          .run = run,
          .bytes = 150 * kMebi + kMebi / 2,
          .limit_bytes = 100 * kMebi};
}

TEST(OutOfDisk, EndsTheTaskAtOnceAndIsTold) {
  AgentScenario s("cpus:4;mem:1024;disk:500");
  s.registered();
  s.run(command_task("t1", "cpus:1;mem:64;disk:100"));
  const std::vector<StartExecutor> starts = s.take<StartExecutor>();
  ASSERT_EQ(starts.size(), 1u);
  s.starts.push_back(starts[0]);
  const PeerId peer = s.hello("t1");
  s.tell(peer, "t1", TaskState::kRunning, 1);
  s.updates();
  OutOfDisk over = over_disk("t1", starts[0].run);
  s.step(over);
  const std::vector<proto::KillTask> kills = s.told_executors<proto::KillTask>();
  ASSERT_EQ(kills.size(), 1u);
  EXPECT_EQ(kills[0].grace, Duration());
  s.step(over);  // measured again before its end
  s.from_executor(peer, proto::ExecutorUpdate{{.task = TaskId("t1"),
                                               .state = TaskState::kKilled,
                                               .sequence = 2,
                                               .message = "ended by signal 9"}});
  const proto::TaskStatus told = told_at_last(s);
  EXPECT_EQ(AgentScenario::line_of(told), "t1 2 failed out_of_disk");
  EXPECT_EQ(told.message,
            "its sandbox holds 150.5 MiB, and the maximum is 100 MiB: ended by signal 9");
  s.step(over);  // after its end
}

TEST(OutOfDisk, OfAnotherRunOrAnUnknownTaskIsNobodys) {
  AgentScenario s("cpus:4;mem:1024;disk:500");
  s.registered();
  s.run(command_task("t1", "cpus:1;mem:64;disk:100"));
  const PeerId peer = s.hello("t1");
  s.tell(peer, "t1", TaskState::kRunning, 1);
  OutOfDisk over = over_disk("t1", 77);
  s.step(over);
  over.task = TaskId("other");
  s.step(over);
  EXPECT_TRUE(s.told_executors<proto::KillTask>().empty());
}

}  // namespace
}  // namespace proffer::agent::limits_test
