#pragma once

// A guess of the first task of a framework that takes open offers. Such a framework says by its
// answers which tasks it has (cluster/implied.cc). In a full cluster it gets no offer, so it cannot
// answer; but without a task it cannot reclaim. So a piece of this size is reclaimed first. If the
// framework refuses it as too little, the guess grows there (Reclaims::grow()).

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

// Whether the leaf wants open offers, has none, and nothing is known of its tasks.
bool lacks_guess(const Cluster& cluster, const Leaf& leaf);

// An eighth of an average agent, at least the smallest useful offer, within the entitlement of the
// leaf and the guarantees above it. Zero: there is no such piece. If the leaf has tasks, as after a
// failover of the master, their average.
ResourceVector first_guess(const Cluster& cluster, const Leaf& leaf);

}  // namespace proffer::fair
