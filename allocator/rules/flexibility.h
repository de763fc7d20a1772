#pragma once

// Among siblings of equal share the least flexible goes first: the one whose ask the fewest agents
// could ever serve.

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

// The least flexible of the children whose share equals that of the first, or nullptr if the first
// is as inflexible. O(1) while every ask suits all agents; else O(equals), at most 64.
Node* least_flexible(const Cluster& cluster, const Role& role, const LeafOrder& order);

}  // namespace proffer::fair
