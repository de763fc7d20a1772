#pragma once

// What an operator may count on of a guarantee: that within a bound it is met, as far as those who
// borrow are in the way. What others run within their own, and what the role itself runs, no
// guarantee takes back.

#include <set>
#include <vector>

#include "common/ids.h"
#include "proto/live_snapshot.h"
#include "proto/status.h"

namespace proffer::sim {

// What a master says of one moment.
struct MasterWord {
  std::vector<proto::RoleRow> roles = {};
  std::vector<proto::FrameworkRow> frameworks = {};
  std::vector<proto::TaskRow> tasks = {};
  proto::LiveSnapshot live = {};
  std::set<AgentId> troubled = {};  // agents that take no tasks, and have said why
};

// Whether an ask within the guarantee of `role` would fit on some agent if all who borrow gave back
// what they run there, each until it is above its entitlement no more: the lowest band first, then
// the youngest. Agents with a claim of an ask of the role itself do not count: a guarantee says
// nothing of those below it; nor do agents in trouble. False of a role that is not listed. O(asks ×
// agents × tasks).
bool could_be_met(const RoleName& role, const MasterWord& word);

}  // namespace proffer::sim
