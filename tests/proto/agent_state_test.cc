// Every state × every event, compared with a table written by hand: a letter for the next state,
// '.' if the event has no effect.

#include "proto/agent_state.h"

#include <iterator>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace proffer::proto::agent_state_test {
namespace {

// C connected, D disconnected, U unreachable, G gone, R removed, in the order of the states'
// numbers.
constexpr std::string_view kLetters = "CDUGR";

struct Row {
  AgentState from;
  std::string_view after;  // registered, connection_lost, timed_out, declared_gone, left, forgotten
};
constexpr Row kMatrix[] = {
    {AgentState::kConnected, ".D..R."},   {AgentState::kDisconnected, "C.UG.."},
    {AgentState::kUnreachable, "C..G.R"}, {AgentState::kGone, ".....R"},
    {AgentState::kRemoved, "......"},
};

TEST(AgentStates, MoveAlongTheTableAndNowhereElse) {
  ASSERT_EQ(std::size(kMatrix), kAgentStateCount);
  for (const Row& row : kMatrix) {
    ASSERT_EQ(row.after.size(), kAgentEventCount);
    for (size_t i = 0; i < kAgentEventCount; ++i) {
      const auto event = static_cast<AgentEvent>(i);
      const std::optional<AgentState> after = next_state(row.from, event);
      const char letter = after ? kLetters[static_cast<size_t>(*after)] : '.';
      EXPECT_EQ(letter, row.after[i]) << to_text(row.from) << " on " << to_text(event);
    }
  }
}

TEST(AgentStates, CanAllBeReachedAndAllCanEnd) {
  std::set<AgentState> reached = {AgentState::kDisconnected};
  std::set<AgentState> ending = {AgentState::kRemoved};
  for (size_t round = 0; round < kAgentStateCount; ++round) {
    for (const AgentTransition& row : kAgentTransitions) {
      if (reached.count(row.from) == 1) reached.insert(row.to);
      if (ending.count(row.to) == 1) ending.insert(row.from);
    }
  }
  EXPECT_EQ(reached.size(), kAgentStateCount);
  EXPECT_EQ(ending.size(), kAgentStateCount);
}

TEST(AgentStates, HaveWordsThatReadBack) {
  std::set<std::string_view> words;
  for (size_t i = 0; i < kAgentStateCount; ++i) {
    const auto state = static_cast<AgentState>(i);
    EXPECT_TRUE(words.insert(to_text(state)).second) << i;
    EXPECT_EQ(parse_agent_state(to_text(state)), state);
  }
  for (size_t i = 0; i < kAgentEventCount; ++i) {
    EXPECT_FALSE(to_text(static_cast<AgentEvent>(i)).empty());
  }
  EXPECT_EQ(parse_agent_state("active"), AgentState::kConnected);  // the word of an earlier version
  EXPECT_EQ(parse_agent_state(""), std::nullopt);
  EXPECT_EQ(parse_agent_state("lost"), std::nullopt);
  EXPECT_EQ(::testing::PrintToString(AgentState::kGone), "gone");
  EXPECT_EQ(::testing::PrintToString(AgentEvent::kLeft), "left");
}

}  // namespace
}  // namespace proffer::proto::agent_state_test
