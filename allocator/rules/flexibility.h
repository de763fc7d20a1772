#pragma once

// At equal share the least flexible goes first: the one that the fewest agents could ever serve.

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

// Of the children whose share is as little as the first one's, the least flexible, or nullptr if
// the first is as good. O(1) while every ask is for any agent, else O(equals), of which so many are
// looked at.
Node* least_flexible(const Cluster& cluster, const Role& role, const LeafOrder& order);

}  // namespace proffer::fair
