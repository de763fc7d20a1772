#pragma once

// Status reports of the allocator for users and metrics, as in allocator.h. They follow from the
// books, not from the shares of the last decision, so they are right between decisions too.

#include <map>
#include <optional>
#include <vector>

#include "allocator/waiting/waiting.h"

namespace proffer::fair {

std::vector<RoleStatus> role_statuses(const Cluster& cluster);
std::vector<LeafStatus> leaf_statuses(const Cluster& cluster, const Waiting& waiting);
std::vector<FrameworkLag> framework_lags(const Cluster& cluster, Time now);
std::map<RoleName, LagStatus> role_lags(const Cluster& cluster, Time now);
// The greatest lag of the leaves in the role and below it.
LagStatus lag_of(const Role& role, Time now);
std::vector<AskStatus> ask_statuses(const Cluster& cluster, const Waiting& waiting,
                                    const FrameworkId& framework);
std::vector<AgentUse> agent_uses(const Cluster& cluster);
std::vector<EndingTask> ending_tasks(const Cluster& cluster);

// The agent that is set aside for the ask, the first if there are several.
std::optional<AgentId> claimed_for(const Waiting& waiting, const AskEntry& ask);

}  // namespace proffer::fair
