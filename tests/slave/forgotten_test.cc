// An agent whose checkpoint has lost its end, while its executors know more.

#include <algorithm>

#include "common/text.h"
#include "slave/core/state.h"
#include "tests/slave/restarted.h"

namespace proffer::agent::forgotten_test {
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

// --- tasks that a cut checkpoint lacks --------------------------------------------------------

// t1 ran, ended and was acknowledged; its executor then took t9, which runs.
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
  // Restarts the agent with only the first `left` records.
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
  // The process's own report, which may differ from the agent's records.
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

// For any end of the log: t1 does not run again, t9 is killed or runs on, and the agent registers
// only after that. The same holds if the agent is killed meanwhile.
TEST_F(Forgotten, ACutCheckpointRunsNoTaskTwiceAndLosesNoLiveTask) {
  size_t taken_for_the_first = 0;
  for (size_t left = 2; left <= whole_.size(); ++left) {
    for (const bool is_killed_again : {false, true}) {
      SCOPED_TRACE(text(left, " of ", whole_.size(), " records", is_killed_again ? ", twice" : ""));
      restart_with(left);
      std::vector<AdoptExecutor> adopts = s_.take<AdoptExecutor>();
      if (adopts.empty()) continue;  // the shell kills processes that no record names
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

// Found by the simulator (--liars, seed 28007): t1 finished, and was then reported as killed.
TEST_F(Forgotten, AnEndOfBeforeIsNoKillOfAnAgentThatStops) {
  restart_with(4);
  is_found_as(s_.take<AdoptExecutor>().at(0));
  s_.step(StopAsked{.kill_tasks = true});
  s_.hello_with("t9", truth());
  s_.step(ExecutorExited{.framework = kBatch, .executor = ExecutorId("t1"), .run = 1});
  for (const std::string& line : registered_tasks(s_)) {
    EXPECT_FALSE(line.starts_with("t1 killed")) << line;
  }
  s_.crash_and_restart();
  s_.tick();
  s_.connect();
  const Lines after = registered_tasks(s_);
  EXPECT_TRUE(std::any_of(after.begin(), after.end(), [](const std::string& line) {
    return line.starts_with("t1 finished ");
  })) << testing::PrintToString(after);
}

TEST_F(Forgotten, ForgottenTasksAreNeverSentAgain) {
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

// An executor of an earlier version. If its name differs from the record's, it took another task.
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

// A refused spare is replaced by a new process, which has the token of the first run and has not
// received its task yet.
TEST_F(Forgotten, AProcessThatWasStartedForALaterRunIsEnded) {
  restart_with(4);
  is_found_as(s_.take<AdoptExecutor>().at(0));
  s_.hello_with("t9", {.run = 2, .tells_runs = true});
  EXPECT_TRUE(s_.told_executors<proto::RunTask>().empty()) << "t1 has run";
  EXPECT_EQ(s_.take<KillExecutor>().size(), 1u);
}

// The records of the first run are repeated after those of the second one.
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

// The log may have lost the record of the process, which is written before the process gets its
// task. Only a run without a process has certainly done nothing.
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
              had_process ? "t1 1048577 lost agent_restarted" : "t1 1 refused agent_restarted");
    s.log = before;
  }
}

// The ended executor cannot report tasks that the log has lost.
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

// The master would take an end with the number of the lost update for a repetition, and drop it.
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

// The end is in the executor's next message: it is not lost (found by the simulator: --liars, seed
// 925921).
TEST(Recovery, AnEndThatWasNotAcknowledgedIsAwaited) {
  for (const bool has_status : {true, false}) {
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
    proto::ExecutorRun run{.task = TaskId("t1"), .run = 1, .ended = true, .acknowledged = 1};
    if (has_status) {
      run.status =
          proto::TaskStatus{.task = TaskId("t1"), .state = TaskState::kRunning, .sequence = 1};
    }
    const PeerId peer = s.hello_with("t1", {.run = 1, .tells_runs = true, .runs = {run}});
    s.welcome();
    s.tell(peer, "t1", TaskState::kFinished, 2);
    const std::vector<proto::Update> told = s.told_master<proto::Update>();
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].status.state, TaskState::kFinished);
    EXPECT_GT(told[0].status.sequence, kUnsyncedMax);
  }
}

// Both lives lose the same records, and the second one does not use the numbers of the first (found
// by the simulator: --liars, seed 926328).
TEST(ForgottenNumbers, OfTwoLivesAreDifferent) {
  AgentScenario s;
  s.registered();
  s.run(command_task("t1"));
  s.collect_starts();
  s.hello("t1");
  const std::vector<proto::CheckpointRecord> before = s.log;
  uint64_t last = 0;
  for (int life = 0; life < 3; ++life) {
    s.now = s.now + hours(1);
    s.restart({.records = before});
    s.tick();
    s.connect();
    s.step(ExecutorExited{
        .framework = kBatch, .executor = ExecutorId("t1"), .run = 1, .had_process = true});
    const auto parts = s.told_master<proto::RegisterTasks>();
    ASSERT_EQ(parts.size(), 1u);
    const uint64_t number = parts[0].tasks.at(0).unacknowledged.back().sequence;
    EXPECT_GT(number, last + 1);
    last = number;
  }
}

// A log that was cut after a complete record looks intact (found by the simulator: checkpoint_cut
// with liars, seed 11978).
TEST(ForgottenNumbers, AnExecutorThatEndedMeanwhileIsToldBehindThem) {
  AgentScenario s;
  s.registered();
  s.run(command_task("t1"));
  s.collect_starts();
  s.hello("t1");
  const std::vector<proto::CheckpointRecord> before = s.log;
  s.restart({.records = before});
  s.tick();
  s.connect();
  s.step(ExecutorExited{
      .framework = kBatch, .executor = ExecutorId("t1"), .run = 1, .had_process = true});
  const auto parts = s.told_master<proto::RegisterTasks>();
  ASSERT_EQ(parts.size(), 1u);
  const proto::TaskStatus& last = parts[0].tasks.at(0).unacknowledged.back();
  EXPECT_EQ(last.state, TaskState::kLost);
  EXPECT_GT(last.sequence, kUnsyncedMax);
}

// The master acknowledged a number that the log has lost. The end must get a later number, or the
// master would take it for a repetition (found by the simulator: checkpoint_cut, seed 591).
TEST(ForgottenNumbers, AnEndIsToldAnewBehindANumberThatOnlyTheMasterKnows) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  s.tell(peer, "t1", TaskState::kFinished, 2);
  s.told_master<proto::Update>();
  s.acknowledge("t1", kUnsyncedMax + 1);
  const std::vector<proto::Update> told = s.told_master<proto::Update>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].status.state, TaskState::kFinished);
  EXPECT_EQ(told[0].status.sequence, kUnsyncedMax + 2);
  EXPECT_EQ(s.core->status().updates_unacknowledged, 1);
  s.acknowledge("t1", kUnsyncedMax + 2);
  EXPECT_EQ(s.core->status().updates_unacknowledged, 0);
}

TEST(ForgottenNumbers, TheNextUpdateIsBehindANumberThatOnlyTheMasterKnows) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  s.acknowledge("t1", 1);
  s.acknowledge("t1", kUnsyncedMax + 1);
  s.tell(peer, "t1", TaskState::kFinished, 2);
  const std::vector<proto::Update> told = s.told_master<proto::Update>();
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back().status.sequence, kUnsyncedMax + 2);
}

}  // namespace
}  // namespace proffer::agent::forgotten_test
