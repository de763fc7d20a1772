#pragma once

// The one typed trace of what happened. Cores emit it; shells turn it into log lines and metrics;
// the simulator hashes it; golden tests compare it. So they cannot disagree.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace proffer {

// How a shell logs an event (STYLE: logs, traces, metrics).
enum class TraceLevel : uint8_t {
  kLongLived,   // INFO: an agent, framework, role or master changed
  kShortLived,  // VLOG(1): an offer or task did
  kMessage,     // VLOG(2): a message passed
  kMisbehaved,  // WARNING: somebody else misbehaved and we coped
  kOperator,    // ERROR: an operator must act, and `what` says how
};

// "agent lost agent=a17 reason=heartbeat tasks=12".
struct TraceEvent {
  TraceLevel level = TraceLevel::kMessage;
  std::string_view what = {};  // a literal: the event in words, also the name of its counter
  std::vector<std::pair<std::string_view, std::string>> fields = {};  // keys are literals

  bool operator==(const TraceEvent&) const = default;
};

std::string to_text(const TraceEvent& event);

}  // namespace proffer
