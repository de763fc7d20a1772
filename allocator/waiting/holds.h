#pragma once

// The time for which an agent may be kept for a claim, by claims.h or by gate.h. A hold is in vain
// if nothing more becomes free for it. After a hold in vain the agent rests for nine times as long,
// so holds in vain cost others at most a tenth of the agent's time, for any number of asks.
//
// A hold is *speculative* if it waits for tasks of unknown end, such as those of a service. Then it
// is short, and at any time at most a tenth of the agents (and at least two) have such a hold, so
// that these holds come one after the other.

#include <optional>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

// The length of the first hold in vain: claim_after, but at least a second.
Duration hold_min(const Cluster& cluster);
// The maximum length of a speculative hold in vain; also the maximum time to a declared end for
// which a hold waits.
Duration hold_max(const Cluster& cluster);

// The agent has just been set aside for a claim.
void begin_hold(Cluster& cluster, Agent& agent, bool is_speculative, Time now);
void become_speculative(Cluster& cluster, Agent& agent);
// Whether the kept amounts have not grown for `hold`. Notes the present amounts.
bool is_in_vain(Agent& agent, Duration hold, Time now);
// Starts the agent's rest after a hold in vain.
void rest_after_hold(Agent& agent, Time now);
bool rests(const Agent& agent, Time now);
// Whether one more speculative hold may begin.
bool may_speculate(const Cluster& cluster);

}  // namespace proffer::fair
