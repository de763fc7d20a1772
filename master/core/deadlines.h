#pragma once

// One ordered queue for all timeouts of the master.

#include <compare>
#include <string>

#include "common/deadlines.h"
#include "common/ids.h"

namespace proffer::master {

enum class DeadlineKind : uint8_t {
  kPeerSilent,        // by peer: no message came from it
  kPeerHeartbeat,     // by peer: no message was sent to it
  kAgentUnreachable,  // by agent
  kAgentRemoved,      // by agent
  kFailover,          // by framework: it has not come back
  kAskReport,         // one for all
  kRelay,             // by relay number: the scheduler has not answered a request
  kRevoke,            // by "framework/task": its time to end is over
  kRoleUse,           // one for all roles: their use goes to the history
  kBackOff,           // by framework: a wait after refused launches
  kBrake,             // one for all: an agent that is held back may be given up
  kGoneForgotten,     // by agent: it was declared gone long ago
  kStarts,            // by agent: it may have been silent about a task for too long
  kStartsPause,       // by agent: it gets a trial task after a pause for missed starts
  kStandbySilent,     // by peer: that master sent no message
  kHiddenTasks,       // by framework: its scheduler has not named tasks that an agent reported
};

// Whether a frame that has arrived, and was not handled yet, may prevent it.
constexpr bool a_frame_may_prevent(DeadlineKind kind) {
  switch (kind) {
    case DeadlineKind::kPeerSilent:
    case DeadlineKind::kStandbySilent:
    case DeadlineKind::kAgentUnreachable:
    case DeadlineKind::kAgentRemoved:
    case DeadlineKind::kFailover:
    case DeadlineKind::kRelay:
    case DeadlineKind::kStarts:
    case DeadlineKind::kHiddenTasks:
      return true;
    default:
      return false;
  }
}

// The subject of a deadline: the number of a peer, or a text: the id of an agent, framework or
// task, or another number.
struct DeadlineKey {
  DeadlineKind kind = DeadlineKind::kPeerSilent;
  PeerId peer = {};
  std::string id = {};
  auto operator<=>(const DeadlineKey&) const = default;
  bool operator==(const DeadlineKey&) const = default;
};

// Timeouts that each message would move (silence, heartbeats) are not moved with each message. When
// one comes up, it is checked and armed again.
using Deadlines = DeadlineQueue<DeadlineKey>;

}  // namespace proffer::master
