#pragma once

// Declines that refuse an agent for hardly any time. Each may be answered by the same offer at
// once, so a scheduler that declines everything so would be offered it for ever, as fast as it can
// answer.

#include <cstddef>
#include <functional>
#include <map>

#include "common/ids.h"
#include "common/time.h"

namespace proffer::master {

// A decline that refuses an agent for less, without a reason, is a short one.
inline constexpr Duration kShortDecline = seconds(1);
// So many in a row of one agent cost nothing.
inline constexpr int64_t kFreeDeclines = 3;

// Of one framework: how long it is not offered an agent after such declines, whatever it said. Each
// agent counts by itself: what comes of others is not delayed.
class ShortDeclines {
 public:
  // A decline of an offer of this agent; how long it is refused for. The first kFreeDeclines in a
  // row cost nothing; then the wait doubles from kBackOffFirst to kDeclineFilter, what a decline
  // costs by default. A decline long after the one before begins the count anew.
  Duration note(const AgentId& agent, Time now);
  // A task was launched there: it is of use after all.
  void note_launched(const AgentId& agent) { rows_.erase(agent); }
  // Forgets those that are no agents any more, once it has more than `agents` of them.
  void keep_only(size_t agents, const std::function<bool(const AgentId&)>& is_agent);

  size_t size() const { return rows_.size(); }

 private:
  struct Row {
    int64_t declines = 0;  // in a row
    Time last = {};
  };
  std::map<AgentId, Row> rows_;
};

}  // namespace proffer::master
