#pragma once

// The entitlement of each ask in tasks: fluid filling over the tree of roles. It depends on
// demands, not on use: it stays the same while tasks come and go and demand exceeds the cluster.

#include "allocator/cluster/cluster.h"
#include "allocator/rules/fluid_filling.h"

namespace proffer::fair {

// Sets AskEntry::entitled and wanted_then of all asks, and Leaf::entitled of all leaves. An ask
// that fits no agent, even if all were empty, is entitled to its present tasks. Returns whether
// some ask is entitled to less than it wants. Costs as much as fill_fluid(); the first look at an
// ask after a change of the agents costs O(agents) more.
bool find_entitled_tasks(const Cluster& cluster);

}  // namespace proffer::fair
