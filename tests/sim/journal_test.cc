// The laws of the journal: each planted lie is found.

#include "sim/journal.h"

#include <gtest/gtest.h>

namespace proffer::sim::journal_test {
namespace {

using proto::TaskReason;
using proto::TaskState;

const FrameworkId kFramework("f1");
const AgentId kMachine("a1");

TaskKey key(const std::string& task) { return {kFramework, TaskId(task)}; }

Resources amounts(int64_t cpus, std::vector<PortRange> ports = {}) {
  return {.amounts = ResourceVector::of(cpus, 0), .ports = PortSet(std::move(ports))};
}

proto::TaskStatus told(const std::string& task, TaskState state, TaskReason reason,
                       std::optional<int32_t> exit_code = {}) {
  return {.task = TaskId(task), .state = state, .reason = reason, .exit_code = exit_code};
}

// A machine with 2 CPUs and one accepted task.
Journal journal_with(const std::string& task) {
  Journal journal;
  journal.machine(kMachine, amounts(2'000, {{31000, 31001}}));
  journal.accepted(key(task));
  return journal;
}

TEST(Journal, ATrueStoryBreaksNoLaw) {
  Journal journal = journal_with("t1");
  EXPECT_TRUE(journal.started(key("t1"), kMachine, amounts(2'000), Time()).empty());
  journal.ended(key("t1"), Ending::kExited, 0, 0);
  EXPECT_TRUE(
      journal.heard(kFramework, told("t1", TaskState::kFinished, TaskReason::kCommandExited, 0))
          .empty());
  EXPECT_TRUE(journal.unsettled().empty());
}

TEST(Journal, FindsATaskThatIsStartedTwice) {
  Journal journal = journal_with("t1");
  journal.started(key("t1"), kMachine, amounts(500), Time());
  EXPECT_FALSE(journal.started(key("t1"), AgentId("a2"), amounts(500), Time()).empty());
}

TEST(Journal, FindsATaskThatIsStartedAgainAfterItsEnd) {
  Journal journal = journal_with("t1");
  journal.started(key("t1"), kMachine, amounts(500), Time());
  journal.ended(key("t1"), Ending::kKilled, 0, 0);
  EXPECT_FALSE(journal.started(key("t1"), kMachine, amounts(500), Time()).empty());
}

TEST(Journal, FindsATaskThatNobodyAccepted) {
  Journal journal = journal_with("t1");
  EXPECT_FALSE(journal.started(key("t2"), kMachine, amounts(500), Time()).empty());
}

TEST(Journal, FindsAMachineThatRunsMoreThanItHas) {
  Journal journal = journal_with("t1");
  journal.accepted(key("t2"));
  EXPECT_TRUE(journal.started(key("t1"), kMachine, amounts(1'500), Time()).empty());
  EXPECT_FALSE(journal.started(key("t2"), kMachine, amounts(501), Time()).empty());
}

TEST(Journal, FindsAPortThatTwoTasksHave) {
  Journal journal = journal_with("t1");
  journal.accepted(key("t2"));
  EXPECT_TRUE(journal.started(key("t1"), kMachine, amounts(500, {{31000, 31000}}), Time()).empty());
  EXPECT_FALSE(
      journal.started(key("t2"), kMachine, amounts(500, {{31000, 31000}}), Time()).empty());
}

TEST(Journal, FindsAnEndThatIsNotWhatTheExecutorReported) {
  Journal journal = journal_with("t1");
  journal.started(key("t1"), kMachine, amounts(500), Time());
  journal.reported(key("t1"), told("t1", TaskState::kFailed, TaskReason::kNone, 7));
  EXPECT_TRUE(Journal(journal)
                  .heard(kFramework, told("t1", TaskState::kFailed, TaskReason::kNone, 7))
                  .empty());
  for (const proto::TaskStatus& lie :
       {told("t1", TaskState::kFailed, TaskReason::kNone, 8),
        told("t1", TaskState::kFinished, TaskReason::kNone, 7),
        told("t1", TaskState::kKilled, TaskReason::kKilledByScheduler, 7),
        told("t1", TaskState::kLost, TaskReason::kExecutorEnded)}) {
    EXPECT_FALSE(Journal(journal).heard(kFramework, lie).empty()) << proto::to_text(lie.state);
  }
  // The process ended before its agent had received the update.
  journal.unwitnessed(key("t1"));
  EXPECT_TRUE(journal.heard(kFramework, told("t1", TaskState::kFailed, TaskReason::kExecutorEnded))
                  .empty());
}

TEST(Journal, FindsAnEndThatWasToldAndDidNotHappen) {
  Journal journal = journal_with("t1");
  journal.started(key("t1"), kMachine, amounts(500), Time());
  for (const auto& [state, reason] : {std::pair(TaskState::kFinished, TaskReason::kCommandExited),
                                      std::pair(TaskState::kFailed, TaskReason::kExecutorEnded),
                                      std::pair(TaskState::kKilled, TaskReason::kKilledByScheduler),
                                      std::pair(TaskState::kLost, TaskReason::kTaskUnknown),
                                      std::pair(TaskState::kRefused, TaskReason::kOfferNotValid)}) {
    Journal copy = journal;
    EXPECT_FALSE(copy.heard(kFramework, told("t1", state, reason)).empty())
        << proto::to_text(state);
  }
}

TEST(Journal, FindsAWrongExitCode) {
  Journal journal = journal_with("t1");
  journal.started(key("t1"), kMachine, amounts(500), Time());
  journal.ended(key("t1"), Ending::kExited, 3, 0);
  Journal copy = journal;
  EXPECT_TRUE(copy.heard(kFramework, told("t1", TaskState::kFailed, TaskReason::kCommandExited, 3))
                  .empty());
  copy = journal;
  EXPECT_FALSE(copy.heard(kFramework, told("t1", TaskState::kFailed, TaskReason::kCommandExited, 4))
                   .empty());
  copy = journal;
  EXPECT_FALSE(
      copy.heard(kFramework, told("t1", TaskState::kFinished, TaskReason::kCommandExited, 0))
          .empty());
}

TEST(Journal, FindsAKillThatIsToldOfATaskThatFinished) {
  Journal journal = journal_with("t1");
  journal.started(key("t1"), kMachine, amounts(500), Time());
  journal.ended(key("t1"), Ending::kExited, 0, 0);
  const proto::TaskStatus killed = told("t1", TaskState::kKilled, TaskReason::kKilledByScheduler);
  Journal copy = journal;
  EXPECT_FALSE(copy.heard(kFramework, killed).empty());
  // Unless the executor died before it could report.
  journal.unwitnessed(key("t1"));
  EXPECT_TRUE(journal.heard(kFramework, killed).empty());
}

// An executor keeps its reports until an agent receives them, also a restarted one.
TEST(Journal, FindsATaskThatIsToldToBeLostAlthoughItsExecutorLived) {
  Journal journal = journal_with("t1");
  journal.started(key("t1"), kMachine, amounts(500), Time());
  journal.ended(key("t1"), Ending::kExited, 0, 0);
  const proto::TaskStatus lost = told("t1", TaskState::kLost, TaskReason::kExecutorEnded);
  Journal copy = journal;
  EXPECT_FALSE(copy.heard(kFramework, lost).empty());
  journal.unwitnessed(key("t1"));
  EXPECT_TRUE(journal.heard(kFramework, lost).empty());
}

// A machine after a power failure, or with a damaged disk, may have forgotten records. Only that is
// excused.
TEST(Journal, ExcusesWhatALossOfMemoryMakesPeopleSay) {
  const proto::TaskStatus lost = told("t1", TaskState::kLost, TaskReason::kAgentRestarted);
  const proto::TaskStatus finished = told("t1", TaskState::kFinished, TaskReason::kCommandExited);
  Journal journal = journal_with("t1");
  journal.started(key("t1"), kMachine, amounts(500), Time());
  Journal running = journal;
  running.memory_lost(kMachine);
  EXPECT_FALSE(running.heard(kFramework, lost).empty());  // it still runs
  journal.ended(key("t1"), Ending::kExited, 0, 0);
  Journal other = journal;
  other.memory_lost(AgentId("another"));
  EXPECT_FALSE(other.heard(kFramework, lost).empty());

  proto::TaskStatus first = finished;
  first.agent = kMachine;
  EXPECT_TRUE(journal.heard(kFramework, first).empty());
  Journal kept = journal;
  EXPECT_FALSE(kept.heard(kFramework, lost).empty());
  journal.memory_lost(kMachine);
  EXPECT_TRUE(journal.heard(kFramework, lost).empty());
  EXPECT_FALSE(
      journal.heard(kFramework, told("t1", TaskState::kGone, TaskReason::kAgentRemoved)).empty());
}

// The answer of a later master about a task on a machine that was given up before.
TEST(Journal, ExcusesThatNobodyKnowsWhatAMachineRunsThatWasGivenUp) {
  const proto::TaskStatus unknown = told("t1", TaskState::kLost, TaskReason::kTaskUnknown);
  const auto started = [](Journal journal) {
    journal.started(key("t1"), kMachine, amounts(500), Time());
    return journal;
  };
  Journal journal = started(journal_with("t1"));
  EXPECT_FALSE(Journal(journal).heard(kFramework, unknown).empty());
  Journal other = journal;
  other.given_up(AgentId("another"));
  EXPECT_FALSE(other.heard(kFramework, unknown).empty());
  journal.given_up(kMachine);
  EXPECT_TRUE(Journal(journal).heard(kFramework, unknown).empty());
  // Only an answer to a reconciliation is excused.
  proto::TaskStatus update = unknown;
  update.sequence = 1;
  EXPECT_FALSE(Journal(journal).heard(kFramework, update).empty());
  const proto::TaskStatus forgot = told("t1", TaskState::kLost, TaskReason::kAgentForgot);
  EXPECT_FALSE(Journal(journal).heard(kFramework, forgot).empty());

  // A task that is launched after the machine's return is known.
  Journal again;
  again.machine(kMachine, amounts(2'000));
  again.given_up(kMachine);
  again.accepted(key("t1"));
  EXPECT_FALSE(started(again).heard(kFramework, unknown).empty());
}

// An executor that no record names any more.
TEST(Journal, DoesNotCountWhatRunsUnseen) {
  Journal journal = journal_with("t1");
  journal.accepted(key("t2"));
  journal.started(key("t1"), kMachine, amounts(1'500), Time());
  EXPECT_FALSE(Journal(journal).started(key("t2"), kMachine, amounts(1'500), Time()).empty());
  journal.forgotten(key("t1"));
  EXPECT_TRUE(journal.started(key("t2"), kMachine, amounts(1'500), Time()).empty());
  EXPECT_TRUE(
      journal.heard(kFramework, told("t1", TaskState::kLost, TaskReason::kAgentForgot)).empty());
  EXPECT_EQ(journal.unsettled().size(), 3u);  // both run, and t2 was never reported
  journal.ended(key("t1"), Ending::kKilled, 0, 0);
  EXPECT_EQ(journal.unsettled().size(), 2u);
}

TEST(Journal, FindsTwoDifferentEndsOfOneTask) {
  Journal journal = journal_with("t1");
  EXPECT_TRUE(
      journal.heard(kFramework, told("t1", TaskState::kLost, TaskReason::kTaskUnknown)).empty());
  EXPECT_FALSE(
      journal.heard(kFramework, told("t1", TaskState::kGone, TaskReason::kAgentRemoved)).empty());
}

TEST(Journal, FindsAStartAfterAnEndWasTold) {
  Journal journal = journal_with("t1");
  journal.heard(kFramework, told("t1", TaskState::kLost, TaskReason::kTaskUnknown));
  EXPECT_FALSE(journal.started(key("t1"), kMachine, amounts(500), Time()).empty());
}

TEST(Journal, FindsWhatIsUnsettled) {
  Journal journal = journal_with("t1");
  EXPECT_EQ(journal.unsettled().size(), 1u);  // launched, without a reported end
  journal.started(key("t1"), kMachine, amounts(500), Time());
  EXPECT_EQ(journal.unsettled().size(), 2u);  // and it runs
  journal.torn_down(kFramework);
  EXPECT_EQ(journal.unsettled().size(), 1u);
  journal.ended(key("t1"), Ending::kKilled, 0, 0);
  EXPECT_TRUE(journal.unsettled().empty());
}

}  // namespace
}  // namespace proffer::sim::journal_test
