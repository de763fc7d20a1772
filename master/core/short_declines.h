#pragma once

// Declines that refuse an agent for a very short time. The same offer could follow each of them at
// once, so a scheduler that declines everything in this way would get offers as fast as it can
// answer.

#include <cstddef>
#include <functional>
#include <map>

#include "common/ids.h"
#include "common/time.h"

namespace proffer::master {

// A decline without a reason that refuses an agent for less than this is a short decline.
inline constexpr Duration kShortDecline = seconds(1);
// The number of consecutive short declines of one agent without a penalty.
inline constexpr int64_t kFreeDeclines = 3;

// For one framework: the time for which an agent is not offered after short declines, regardless of
// the time in the decline. Agents are counted separately, so offers of other agents are not
// delayed.
class ShortDeclines {
 public:
  // Counts a short decline of this agent and returns the time for which it is not offered. The
  // first kFreeDeclines in a row have no penalty. Then the wait doubles from kBackOffFirst up to
  // kDeclineFilter, the default of a decline. If the last decline was long ago, the count restarts.
  Duration note(const AgentId& agent, Time now);
  // A task was launched there, so the framework does use the agent.
  void note_launched(const AgentId& agent) { rows_.erase(agent); }
  // Forgets names that are no agents any more, when it has more than `agents` rows.
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
