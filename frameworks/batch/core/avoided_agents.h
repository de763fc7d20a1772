#pragma once

// Agents that a job avoids for some time, because several of its tasks failed there (a full disk, a
// missing program, a broken memory module) or were slow there (a failing disk, a throttled CPU).
// After that time it uses them again. It avoids at most a third of its agents, so that a job whose
// tasks fail everywhere keeps its agents.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/limits.h"
#include "common/time.h"
#include "frameworks/batch/core/work.h"

namespace proffer::batch {

// The number of different tasks that must fail on an agent (the default of Hadoop).
inline constexpr size_t kFailedTasksPerAgent = 3;
// Or the number of consecutive tasks that end there and are slow. A job may have slow tasks because
// of its input, but these are not all on one agent.
inline constexpr size_t kSlowTasksPerAgent = 3;
// How long an agent is avoided; older failures no longer count.
inline constexpr Duration kAvoidFor = minutes(5);
// A third of the agents that the job uses, and no more than an ask can name besides others.
constexpr size_t avoided_max(size_t agents) {
  return std::min(agents / 3, kConstraintValuesMax / 2);
}

class AvoidedAgents {
 public:
  // A task failed there by its own fault. `agents`: number of agents that the job has used. Returns
  // true if the agent is avoided from now on.
  bool add_failure(const AgentId& agent, TaskKind kind, uint32_t number, Time now, size_t agents);
  // A task has ended there, or another attempt at it was faster. Returns the same.
  bool add_end(const AgentId& agent, bool was_slow, Time now, size_t agents);
  bool contains(const AgentId& agent) const { return avoided_.contains(agent); }
  const std::set<AgentId>& all() const { return avoided_; }
  // No other agent can run the tasks, so the avoided agents are used again.
  void forgive_all();
  void forgive(Time now);
  std::optional<Time> next_deadline() const;  // when the next agent is used again

 private:
  struct Failures {
    std::set<std::pair<TaskKind, uint32_t>> tasks = {};  // at most kFailedTasksPerAgent
    size_t slow = 0;  // among the last ended tasks, at most kSlowTasksPerAgent
    Time last = {};
    bool are_enough() const {
      return tasks.size() >= kFailedTasksPerAgent || slow >= kSlowTasksPerAgent;
    }
  };
  bool avoid_if_bad(const AgentId& agent, size_t agents);

  std::map<AgentId, Failures> failures_;  // agents with failures or slow tasks that count
  std::set<AgentId> avoided_;
};

}  // namespace proffer::batch
