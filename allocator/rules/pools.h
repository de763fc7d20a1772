#pragma once

// Asks with constraints or GPUs that suit the same agents, and not all, share a pool: together they
// are entitled to at most the resources of these agents. (Choosy: Ghodsi et al., EuroSys 2013, is
// max-min fair with constraints. Here pools that overlap are independent of each other.)

#include <optional>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

// The number of the ask's pool in Cluster::pools; nothing if it suits all agents, or there are too
// many pools. O(agents) once for each ask after a change of the agents.
std::optional<size_t> pool_of(const Cluster& cluster, const AskEntry& ask);

}  // namespace proffer::fair
