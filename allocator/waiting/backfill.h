#pragma once

// Which tasks may use what is kept for a claim until the claim is complete: EASY backfill (Lifka
// 1995), with a claim in place of the reservation of the first job in the queue. One rule for the
// decision that gives it (round/lend.cc), and for the words about it (explain/remedies.cc).

#include <optional>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

// The longest time limit with which a task of the ask delays the claim in no way: it has ended when
// the claim is complete, and beside it the claimant may still have what it waits for. It may be too
// short for any task, or negative. Nothing: no task may. `complete_at`: Claims::complete_at().
std::optional<Duration> backfill_limit(const Cluster& cluster, const AskEntry& ask,
                                       const AskEntry& claimant, std::optional<Time> complete_at,
                                       Time now);
// Whether a task fits what is kept for a claim there. Nothing is taken of agents with reservations
// or estimates.
bool has_room_to_backfill(const AskEntry& ask, const Agent& on);

}  // namespace proffer::fair
