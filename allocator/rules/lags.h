#pragma once

// How each leaf and each ask stands to its entitlement, for its lag (cluster/lag.h). Nothing is
// decided by lags: they are figures for people.
//
// An ask waits while it has unmet demand that counts in its entitlement, and a leaf while an ask of
// it does, or while it takes open offers and its demand is not known. Entitlements are those of the
// gate (entitled_tasks.h). An ask stands by its tasks, offered ones included; a leaf by the
// dominant share of its use, in amounts of the dominant kind of its entitlement.

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

// At the end of a decision: notes the standings that are others now. O(leaves and asks that have
// changed since the last call); O(all) if entitlements in tasks were computed anew.
void note_lags(Cluster& cluster, Time now);

}  // namespace proffer::fair
