#pragma once

// The reason why an ask waits, cheap enough to be computed often; explain() says more and looks at
// all agents.

#include "allocator/waiting/waiting.h"
#include "common/wait_reason.h"

namespace proffer::fair {

// For an ask that lacks tasks: the first reason that holds, in the order of WaitReason from
// kSuppressed on. Looks at no more than kPlacesLookedAt agents with room, agents with room that is
// set aside, and offers; only an ask that no present agent could meet costs O(agents), once for
// each change of the agents.
inline constexpr int kPlacesLookedAt = 64;
WaitReason wait_reason(const Cluster& cluster, const Waiting& waiting, const AskEntry& ask,
                       Time now);

}  // namespace proffer::fair
