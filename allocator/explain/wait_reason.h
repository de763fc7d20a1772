#pragma once

// What an ask waits for, in one word, cheap enough to be looked at again and again: explain() says
// more and looks at all agents.

#include "allocator/waiting/waiting.h"
#include "common/wait_reason.h"

namespace proffer::fair {

// Of an ask that lacks tasks: the first that holds in the order of WaitReason, kSuppressed or
// later. Looks at no more than kPlacesLookedAt agents with room, agents with room that is set
// aside, and offers; only an ask that none of the agents here could meet costs O(agents), once for
// each change of these.
inline constexpr int kPlacesLookedAt = 64;
WaitReason wait_reason(const Cluster& cluster, const Waiting& waiting, const AskEntry& ask,
                       Time now);

}  // namespace proffer::fair
