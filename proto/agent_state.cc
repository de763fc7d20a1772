#include "proto/agent_state.h"

#include <array>
#include <ostream>

namespace proffer::proto {
namespace {

constexpr std::array<std::string_view, kAgentStateCount> kAgentStateNames = {
    "connected", "disconnected", "unreachable", "gone", "removed"};

constexpr std::array<std::string_view, kAgentEventCount> kAgentEventNames = {
    "registered", "connection_lost", "timed_out", "declared_gone", "left", "forgotten"};
static_assert(!kAgentEventNames.back().empty());

}  // namespace

std::string_view to_text(AgentState state) {
  return kAgentStateNames.at(static_cast<size_t>(state));
}
std::string_view to_text(AgentEvent event) {
  return kAgentEventNames.at(static_cast<size_t>(event));
}

std::ostream& operator<<(std::ostream& out, AgentState state) { return out << to_text(state); }
std::ostream& operator<<(std::ostream& out, AgentEvent event) { return out << to_text(event); }

std::optional<AgentState> parse_agent_state(std::string_view text) {
  if (text == "active") return AgentState::kConnected;
  for (size_t i = 0; i < kAgentStateCount; ++i) {
    if (kAgentStateNames[i] == text) return static_cast<AgentState>(i);
  }
  return std::nullopt;
}

}  // namespace proffer::proto
