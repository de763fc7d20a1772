// Every state × every event, compared with a table written by hand: a letter for the next state,
// '.' if the event has no effect.

#include "proto/task_state.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace proffer::proto::task_state_test {
namespace {

// S staging, R running, K killing, U unreachable, F finished, X failed, D killed, L lost, G gone, N
// refused, in the order of the states' numbers.
constexpr std::string_view kLetters = "SRKUFXDLGN";

struct Row {
  TaskState from;
  std::string_view after;  // started, kill_asked, finished, failed, killed, lost, agent_lost,
                           // agent_back, agent_gone, refused
};
constexpr Row kMatrix[] = {
    {TaskState::kStaging, "RKFXDLU.GN"},  {TaskState::kRunning, ".KFXDLU.G."},
    {TaskState::kKilling, "..FXDLU.GN"},  {TaskState::kUnreachable, "..FXDL.RG."},
    {TaskState::kFinished, ".........."}, {TaskState::kFailed, ".........."},
    {TaskState::kKilled, ".........."},   {TaskState::kLost, ".........."},
    {TaskState::kGone, ".........."},     {TaskState::kRefused, ".........."},
};

TEST(TaskStates, MoveAlongTheTableAndNowhereElse) {
  ASSERT_EQ(std::size(kMatrix), kTaskStateCount);
  for (const Row& row : kMatrix) {
    ASSERT_EQ(row.after.size(), kTaskEventCount);
    for (size_t i = 0; i < kTaskEventCount; ++i) {
      const auto event = static_cast<TaskEvent>(i);
      const std::optional<TaskState> after = next_state(row.from, event);
      const char letter = after ? kLetters[static_cast<size_t>(*after)] : '.';
      EXPECT_EQ(letter, row.after[i]) << to_text(row.from) << " on " << to_text(event);
    }
  }
}

TEST(TaskStates, TerminalOnesHaveNoWayOut) {
  const std::set<TaskState> terminal = {TaskState::kFinished, TaskState::kFailed,
                                        TaskState::kKilled,   TaskState::kLost,
                                        TaskState::kGone,     TaskState::kRefused};
  for (size_t s = 0; s < kTaskStateCount; ++s) {
    const auto state = static_cast<TaskState>(s);
    EXPECT_EQ(is_terminal(state), terminal.count(state) == 1) << to_text(state);
    if (!is_terminal(state)) continue;
    for (size_t e = 0; e < kTaskEventCount; ++e) {
      EXPECT_EQ(next_state(state, static_cast<TaskEvent>(e)), std::nullopt) << to_text(state);
    }
  }
}

TEST(TaskStates, CanAllBeReachedAndAllCanEnd) {
  std::set<TaskState> reached = {TaskState::kStaging};
  for (size_t round = 0; round < kTaskStateCount; ++round) {
    for (const TaskTransition& row : kTaskTransitions) {
      if (reached.count(row.from) == 1) reached.insert(row.to);
    }
  }
  EXPECT_EQ(reached.size(), kTaskStateCount);
  for (size_t s = 0; s < kTaskStateCount; ++s) {
    const auto state = static_cast<TaskState>(s);
    if (is_terminal(state)) continue;
    const std::optional<TaskState> after = next_state(state, TaskEvent::kAgentGone);
    ASSERT_TRUE(after) << to_text(state);
    EXPECT_TRUE(is_terminal(*after)) << to_text(state);
  }
}

TEST(TaskStates, AToldStateIsAnEventThatLeadsThere) {
  for (size_t s = 0; s < kTaskStateCount; ++s) {
    const auto told = static_cast<TaskState>(s);
    const std::optional<TaskEvent> event = event_of(told);
    if (told == TaskState::kStaging || told == TaskState::kKilling) {
      EXPECT_EQ(event, std::nullopt) << to_text(told);
      continue;
    }
    ASSERT_TRUE(event) << to_text(told);
    EXPECT_EQ(next_state(TaskState::kStaging, *event), told) << to_text(told);
  }
}

template <class Enum, class Parse>
void expect_words(size_t count, const Parse& parse) {
  std::set<std::string_view> words;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view word = to_text(static_cast<Enum>(i));
    EXPECT_FALSE(word.empty()) << i;
    EXPECT_TRUE(words.insert(word).second) << word;
    EXPECT_EQ(parse(word), static_cast<Enum>(i)) << word;
  }
  EXPECT_EQ(parse(""), std::nullopt);
  EXPECT_EQ(parse("RUNNING"), std::nullopt);
}

TEST(TaskStates, AndReasonsHaveWordsThatReadBack) {
  expect_words<TaskState>(kTaskStateCount, parse_task_state);
  expect_words<TaskReason>(kTaskReasonCount, parse_task_reason);
  EXPECT_EQ(::testing::PrintToString(TaskState::kRunning), "running");
  EXPECT_EQ(::testing::PrintToString(TaskEvent::kKillAsked), to_text(TaskEvent::kKillAsked));
  EXPECT_EQ(::testing::PrintToString(TaskReason::kRevoked), "revoked");
}

}  // namespace
}  // namespace proffer::proto::task_state_test
