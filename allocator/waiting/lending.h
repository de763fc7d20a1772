#pragma once

// Resources that are set aside for a claim, and resources that agents only estimate to be free, are
// lent meanwhile to asks with revocable_ok, one task at a time; such use is marked revocable. This
// file takes them back; round/lend.cc lends them.
//
// Lent resources of the cluster count in shares as all others do. Estimates count in no share, and
// go to the leaf that holds least of them. An agent that estimates lends nothing else, so that all
// revocable use there is its estimate. Gangs borrow nothing.

#include <utility>
#include <vector>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

class Claims;

// The tasks and offers that must end before a claimant is served.
struct Obstacles {
  bool would_do = false;  // whether their end, and the end of revoked tasks, suffices
  std::vector<OfferId> offers = {};
  std::vector<std::pair<Agent*, TaskRef>> tasks = {};
};
// Revoked tasks count as ended. Of the rest the newest is selected first, offers before tasks,
// lower bands before higher ones; no more than needed. A backfilling task (backfill.h) cannot be
// ended before its time, so it is no obstacle.
Obstacles obstacles_of(const Cluster& cluster, const Claims& claims, const AskEntry& ask, Time now);

// For each claim, in order: ends the use of lent resources if the claimant would then fit. Returns
// whether offers were rescinded.
bool take_back_lent(Cluster& cluster, const Claims& claims, Time now);
// Revokes tasks on estimates that have shrunk below their use.
void take_back_estimates(Cluster& cluster, Time now);

}  // namespace proffer::fair
