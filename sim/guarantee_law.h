#pragma once

// The law of guarantees for operators: within a time limit a guarantee is met, as far as only
// borrowers are in the way. A guarantee preempts neither tasks of other roles within their own
// entitlement, nor tasks of the role itself.

#include <set>
#include <vector>

#include "common/ids.h"
#include "proto/live_snapshot.h"
#include "proto/status.h"

namespace proffer::sim {

// The state of a master at one moment.
struct MasterWord {
  std::vector<proto::RoleRow> roles = {};
  std::vector<proto::FrameworkRow> frameworks = {};
  std::vector<proto::TaskRow> tasks = {};
  proto::LiveSnapshot live = {};
  std::set<AgentId> troubled = {};  // agents that take no tasks, and have reported why
};

// True if an ask within the guarantee of `role` would fit on some agent if all borrowers gave back
// their resources there, each until it is no longer above its entitlement: the lowest band first,
// then the youngest. Agents with a claim of an ask of the role itself do not count, since a
// guarantee does not cover the roles below it; nor do agents in trouble. False if the role is not
// listed. O(asks × agents × tasks).
bool could_be_met(const RoleName& role, const MasterWord& word);

}  // namespace proffer::sim
