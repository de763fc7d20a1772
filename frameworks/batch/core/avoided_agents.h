#pragma once

// Agents that a job avoids for some time, because several of its tasks failed there (a full disk, a
// missing program, a broken memory module), or were slow there (a disk that is dying, a CPU that is
// throttled). It forgives them again, and avoids a third of its agents at most: a job whose tasks
// fail everywhere is not an excuse to leave the cluster.

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

// So many different tasks have to fail on an agent (Hadoop has the same default).
inline constexpr size_t kFailedTasksPerAgent = 3;
// Or so many tasks that end there one after the other are slow. A job has slow tasks by its input,
// too; these are not all on one agent.
inline constexpr size_t kSlowTasksPerAgent = 3;
// An agent is avoided so long; failures that are older count no more.
inline constexpr Duration kAvoidFor = minutes(5);
// A third of the agents that the job uses, and no more than an ask can name beside others.
constexpr size_t avoided_max(size_t agents) {
  return std::min(agents / 3, kConstraintValuesMax / 2);
}

class AvoidedAgents {
 public:
  // A task failed there by its own fault. `agents`: how many the job has used. Returns whether the
  // agent is avoided from now on.
  bool add_failure(const AgentId& agent, TaskKind kind, uint32_t number, Time now, size_t agents);
  // A task has ended there, or another attempt at it was faster. Returns the same.
  bool add_end(const AgentId& agent, bool was_slow, Time now, size_t agents);
  bool contains(const AgentId& agent) const { return avoided_.contains(agent); }
  const std::set<AgentId>& all() const { return avoided_; }
  // No other agent can run the tasks: those that are avoided must do.
  void forgive_all();
  void forgive(Time now);
  std::optional<Time> next_deadline() const;  // the next one to be forgiven

 private:
  struct Failures {
    std::set<std::pair<TaskKind, uint32_t>> tasks = {};  // at most kFailedTasksPerAgent
    size_t slow = 0;  // the last ones that ended, at most kSlowTasksPerAgent
    Time last = {};
    bool are_enough() const {
      return tasks.size() >= kFailedTasksPerAgent || slow >= kSlowTasksPerAgent;
    }
  };
  bool avoid_if_bad(const AgentId& agent, size_t agents);

  std::map<AgentId, Failures> failures_;  // of agents with failures or slow tasks that count
  std::set<AgentId> avoided_;
};

}  // namespace proffer::batch
