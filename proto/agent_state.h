#pragma once

// The life of an agent, as its master sees it, as a table. docs/STATES.md is made from the table,
// and the matrix test runs through it.

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string_view>

namespace proffer::proto {

enum class AgentState : uint8_t {
  kConnected,
  kDisconnected,  // its connection ended; its tasks keep their states
  kUnreachable,   // past its timeout; its tasks may still run, and are reported as unreachable
  kGone,          // an operator declared that it never comes back; its tasks are reported as gone
  kRemoved,       // forgotten; its tasks were reported as gone
};
inline constexpr size_t kAgentStateCount = 5;

// The agent cannot come back with its tasks.
constexpr bool is_over(AgentState state) { return state >= AgentState::kGone; }

std::string_view to_text(AgentState state);  // "connected", …
std::ostream& operator<<(std::ostream& out, AgentState state);
// Also parses "active", the name of "connected" in masters of the previous version.
std::optional<AgentState> parse_agent_state(std::string_view text);

enum class AgentEvent : uint8_t {
  kRegistered,      // again; the first registration makes it connected
  kConnectionLost,  // the connection ended, or was silent for too long
  kTimedOut,        // away for the agent timeout, and the brake allows it
  kDeclaredGone,    // by an operator
  kLeft,            // the agent said so, with nothing left to run
  kForgotten,       // away or gone for so long that the master stops waiting for it
};
inline constexpr size_t kAgentEventCount = 6;

std::string_view to_text(AgentEvent event);
std::ostream& operator<<(std::ostream& out, AgentEvent event);

struct AgentTransition {
  AgentState from;
  AgentEvent event;
  AgentState to;
};

inline constexpr AgentTransition kAgentTransitions[] = {
    {AgentState::kConnected, AgentEvent::kConnectionLost, AgentState::kDisconnected},
    {AgentState::kConnected, AgentEvent::kLeft, AgentState::kRemoved},

    {AgentState::kDisconnected, AgentEvent::kRegistered, AgentState::kConnected},
    {AgentState::kDisconnected, AgentEvent::kTimedOut, AgentState::kUnreachable},
    {AgentState::kDisconnected, AgentEvent::kDeclaredGone, AgentState::kGone},

    {AgentState::kUnreachable, AgentEvent::kRegistered, AgentState::kConnected},
    {AgentState::kUnreachable, AgentEvent::kDeclaredGone, AgentState::kGone},
    {AgentState::kUnreachable, AgentEvent::kForgotten, AgentState::kRemoved},

    {AgentState::kGone, AgentEvent::kForgotten, AgentState::kRemoved},
};

// The state after `event`; none if the event has no meaning in `from`.
constexpr std::optional<AgentState> next_state(AgentState from, AgentEvent event) {
  for (const AgentTransition& row : kAgentTransitions) {
    if (row.from == from && row.event == event) return row.to;
  }
  return std::nullopt;
}

namespace detail {
constexpr bool agent_table_is_sound() {
  for (const AgentTransition& a : kAgentTransitions) {
    if (a.from == AgentState::kRemoved) return false;     // a removed agent has no way out
    if (is_over(a.from) && !is_over(a.to)) return false;  // gone is permanent
    int rows = 0;
    for (const AgentTransition& b : kAgentTransitions) {
      rows += a.from == b.from && a.event == b.event;
    }
    if (rows != 1) return false;  // no two rows disagree
  }
  return true;
}
}  // namespace detail
static_assert(detail::agent_table_is_sound());

}  // namespace proffer::proto
