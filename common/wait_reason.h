#pragma once

// Why a task waits, from the time when its ask wanted it until it runs. At each instant there is
// one reason, the first that holds in this order. The times of all reasons add up to the whole
// wait.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/time.h"

namespace proffer {

enum class WaitReason : uint8_t {
  kStart,          // launched: its agent fetches its files and starts it
  kScheduler,      // offered to its scheduler, which has not answered
  kDecision,       // declared: no decision has considered it yet
  kSuppressed,     // its scheduler has suppressed offers
  kBackOff,        // launches were refused, so offers are delayed
  kImpossible,     // no agent could run it, even if the agent were empty
  kAgentMissing,   // agents that could run it are away, drained or in trouble
  kRecovering,     // its role has a limit, and not all tasks are known yet after a failover
  kLimit,          // the limit of its role, or of a role above
  kGuarantees,     // free resources are held for the guarantees of others
  kEntitlement,    // its role has its entitlement, and the ask may not borrow
  kDeclined,       // its own framework has declined the agents with room
  kLocality,       // there is room, but it is in its locality wait
  kSpread,         // its max_per or spread excludes the agents with room
  kPorts,          // the ports that it needs are in use on the agents with room
  kGang,           // there is room for one of its tasks, but not for the whole gang
  kTurn,           // there is room, but others come first
  kOwed,           // free resources are held for asks that are owed a task
  kClaim,          // free resources are set aside for asks that have waited longer
  kOffers,         // free resources are offered to others, which have not answered
  kFragmentation,  // enough is free in total, but not on one agent
  kBorrowed,       // its role has less than its entitlement, which others have borrowed
  kShare,          // its role has its entitlement, and nothing more is free
};
inline constexpr size_t kWaitReasonCount = 23;

std::string_view to_text(WaitReason reason);  // "start", "scheduler", …
std::optional<WaitReason> parse_wait_reason(std::string_view text);
// "it was offered to its scheduler, which had not answered", for people.
std::string_view explained(WaitReason reason);

// How long a task waited for this reason; never zero.
struct WaitSpan {
  WaitReason reason = WaitReason::kStart;
  Duration spent = {};
  bool operator==(const WaitSpan&) const = default;
};
// Each reason at most once, in order.
using WaitSpans = std::vector<WaitSpan>;
Duration whole_of(const WaitSpans& spans);

// How many milliseconds the tasks of a framework or role waited for this reason, in total.
struct WaitSum {
  WaitReason reason = WaitReason::kStart;
  int64_t millis = 0;
  int64_t tasks = 0;  // tasks that wait for it now
  bool operator==(const WaitSum&) const = default;
};

}  // namespace proffer
