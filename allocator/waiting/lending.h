#pragma once

// What is set aside for a claim, and what agents only estimate to be free, is used meanwhile by
// asks that say revocable_ok, one task at a time; what they hold is marked revocable. Here is when
// it is taken back; round/lend.cc gives it.
//
// What was lent counts in shares, like all that is of the cluster; estimates count in nothing, and
// go to the leaf that holds least of them. An agent that estimates lends nothing else, so that what
// is revocable there is its estimate. Gangs are not lent to.

#include <utility>
#include <vector>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

class Claims;

// What would have to end for a claimant to be served.
struct Obstacles {
  bool would_do = false;  // if all of these ended, and what has had its notice
  std::vector<OfferId> offers = {};
  std::vector<std::pair<Agent*, TaskRef>> tasks = {};
};
// What has had its notice counts as ended. Of the rest the newest goes first, offers before tasks,
// lower bands before higher ones; no more than is needed.
// What backfills (backfill.h) is no obstacle that can be ended before its time.
Obstacles obstacles_of(const Cluster& cluster, const Claims& claims, const AskEntry& ask, Time now);

// For each claim, in their order: if the claimant would fit were what is lent there ended, it is.
// Returns whether offers were taken back.
bool take_back_lent(Cluster& cluster, const Claims& claims, Time now);
// Estimates that have shrunk below what runs on them.
void take_back_estimates(Cluster& cluster, Time now);

}  // namespace proffer::fair
