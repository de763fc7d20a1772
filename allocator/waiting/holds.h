#pragma once

// How long an agent may be kept for a claim, whether by claims.h or by gate.h. A hold is in vain if
// nothing more becomes free for it. It costs other asks at most a tenth of the agent's time, by
// however many asks: after a hold in vain the agent rests for nine times as long.
//
// A hold is *speculative* if it waits for tasks of unknown end, such as those of a service. It is
// short then, and at any time at most a tenth of the agents (and at least two) have such a hold, so
// that they come one after the other.

#include <optional>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

// The first hold in vain: claim_after, but at least a second.
Duration hold_min(const Cluster& cluster);
// The longest speculative hold in vain, and how far ahead a declared end may lie for a hold to wait
// for it.
Duration hold_max(const Cluster& cluster);

// The agent has just been set aside for a claim.
void begin_hold(Cluster& cluster, Agent& agent, bool is_speculative, Time now);
void become_speculative(Cluster& cluster, Agent& agent);
// Whether nothing more has been kept there for so long. Notes what is kept.
bool is_in_vain(Agent& agent, Duration hold, Time now);
// The hold was in vain.
void rest_after_hold(Agent& agent, Time now);
bool rests(const Agent& agent, Time now);
// Whether one more speculative hold may begin.
bool may_speculate(const Cluster& cluster);

}  // namespace proffer::fair
