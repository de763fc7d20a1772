#pragma once

// Decides which tasks may use the resources kept for a claim until the claim is complete: EASY
// backfill (Lifka 1995), with a claim in place of the reservation of the first job in the queue.
// The decision (round/lend.cc) and the explanations (explain/remedies.cc) share this rule.

#include <optional>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

// The longest time limit with which a task of the ask does not delay the claim: the task ends
// before the claim is complete, and limits permit the claimant's resources beside it. It may be too
// short for any task, or negative. Empty: no task may backfill. `complete_at`:
// Claims::complete_at().
std::optional<Duration> backfill_limit(const Cluster& cluster, const AskEntry& ask,
                                       const AskEntry& claimant, std::optional<Time> complete_at,
                                       Time now);
// Whether a task fits into the resources kept for a claim there. Agents with reservations or
// estimates are never backfilled.
bool has_room_to_backfill(const AskEntry& ask, const Agent& on);

}  // namespace proffer::fair
