#pragma once

// The entitlement of each ask in tasks: fluid filling over the tree of roles as it is. Demands
// count, not who has what: so nothing changes while tasks come and go and more are wanted than fit.

#include "allocator/cluster/cluster.h"
#include "allocator/rules/fluid_filling.h"

namespace proffer::fair {

// Sets AskEntry::entitled and wanted_then of all asks. An ask that could not be served if its
// agents were empty is entitled to what it has. Whether some ask is entitled to less than it wants.
// As fill_fluid(), and O(agents) for an ask of which it is not known whether it could be served.
bool find_entitled_tasks(const Cluster& cluster);

}  // namespace proffer::fair
