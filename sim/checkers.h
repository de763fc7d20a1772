#pragma once

// Laws across several cores: the agreement between master, agents, machines and schedulers when all
// work has ended (DESIGN §10, 7). Laws that hold at all times are in the cores' own violations()
// and in the Journal.

#include <memory>
#include <vector>

#include "common/result.h"
#include "sim/agent_node.h"
#include "sim/journal.h"
#include "sim/master_node.h"
#include "sim/scheduler_node.h"

namespace proffer::sim {

struct Cluster {
  const MasterNode& master;
  const std::vector<std::unique_ptr<AgentNode>>& agents;
  const std::vector<std::unique_ptr<SchedulerNode>>& schedulers;
  const Journal& journal;
};

// Schedulers whose work is not done, or whose driver still waits.
std::vector<Violation> unsettled_schedulers(const Cluster& cluster);
// Agents that are up but not served or take no tasks, and their unfinished work; tasks, allocations
// and agents that the master should not have.
std::vector<Violation> disagreements(const Cluster& cluster);
// All of these, and Journal::unsettled.
std::vector<Violation> unfinished(const Cluster& cluster);

}  // namespace proffer::sim
