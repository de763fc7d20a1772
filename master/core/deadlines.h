#pragma once

// What is due when: one ordered queue for all timeouts of the master.

#include <compare>
#include <string>

#include "common/deadlines.h"
#include "common/ids.h"

namespace proffer::master {

enum class DeadlineKind : uint8_t {
  kPeerSilent,        // by peer: nothing was heard of it
  kPeerHeartbeat,     // by peer: nothing was said to it
  kAgentUnreachable,  // by agent
  kAgentRemoved,      // by agent
  kFailover,          // by framework: it has not come back
  kAskReport,         // the one for all
  kRelay,             // by relay number: the scheduler has not answered a request
  kRevoke,            // by "framework/task": it was to have ended
  kRoleUse,           // one for all roles: their use goes to the history
  kBackOff,           // by framework: a wait after refused launches
  kBrake,             // the one for all: an agent that is held back may be given up
  kGoneForgotten,     // by agent: it was declared gone long ago
  kStarts,            // by agent: it may have said nothing of a task for too long
  kStartsPause,       // by agent: it is tried again, after tasks that it did not start
  kStandbySilent,     // by peer: nothing was heard of that master
  kHiddenTasks,       // by framework: its scheduler has not named tasks that an agent told
};

// What a deadline is of: a peer's number, or the text of the id of an agent, framework or task, or
// of a number.
struct DeadlineKey {
  DeadlineKind kind = DeadlineKind::kPeerSilent;
  PeerId peer = {};
  std::string id = {};
  auto operator<=>(const DeadlineKey&) const = default;
  bool operator==(const DeadlineKey&) const = default;
};

// What moves with every message (silence, heartbeats) is not moved here: it is looked at again, and
// armed again, when it comes up.
using Deadlines = DeadlineQueue<DeadlineKey>;

}  // namespace proffer::master
