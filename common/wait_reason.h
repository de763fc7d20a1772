#pragma once

// What a task waits for, from when its ask wanted it until it runs. At each instant there is one
// reason, the first that holds in this order; the times of all reasons add up to the whole wait.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/time.h"

namespace proffer {

enum class WaitReason : uint8_t {
  kStart,          // launched: its agent fetches its files and starts it
  kScheduler,      // offered to its scheduler, which has not answered
  kDecision,       // declared: no decision was looked at yet
  kSuppressed,     // its scheduler has suppressed offers
  kBackOff,        // launches were refused, so nothing is offered for a while
  kImpossible,     // no agent could run it even if it were empty
  kAgentMissing,   // some could, but they are away, drained or in trouble
  kRecovering,     // its role has a limit, and not all tasks are known yet after a failover
  kLimit,          // the limit of its role, or of one above
  kGuarantees,     // what is free is held for the guarantees of others
  kEntitlement,    // its role is entitled to no more, and the ask may not borrow
  kDeclined,       // its own framework has declined the agents with room
  kLocality,       // there is room, but not where it would rather be
  kSpread,         // as many of its tasks as may be together are where there is room
  kPorts,          // the ports that it needs are in use where there is room
  kGang,           // there is room for a task of it, but not for the whole gang
  kTurn,           // there is room, and others come first
  kOwed,           // what is free is held for asks that are owed a task
  kClaim,          // what is free is set aside for asks that have waited longer
  kOffers,         // what is free is offered to others, which have not answered
  kFragmentation,  // enough is free in all, but not on one agent
  kBorrowed,       // it has less than it is entitled to: others use more than they are
  kShare,          // it has what it is entitled to, and nothing more is free
};
inline constexpr size_t kWaitReasonCount = 23;

std::string_view to_text(WaitReason reason);  // "start", "scheduler", …
std::optional<WaitReason> parse_wait_reason(std::string_view text);
// "it was offered to its scheduler, which had not answered", for people.
std::string_view explained(WaitReason reason);

// So long a task waited for this reason; never zero.
struct WaitSpan {
  WaitReason reason = WaitReason::kStart;
  Duration spent = {};
  bool operator==(const WaitSpan&) const = default;
};
// Each reason at most once, in their order.
using WaitSpans = std::vector<WaitSpan>;
Duration whole_of(const WaitSpans& spans);

// So many milliseconds the tasks of a framework or role waited for this reason, together.
struct WaitSum {
  WaitReason reason = WaitReason::kStart;
  int64_t millis = 0;
  int64_t tasks = 0;  // that wait for it now
  bool operator==(const WaitSum&) const = default;
};

}  // namespace proffer
