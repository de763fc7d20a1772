#pragma once

// Checks an accept before it is sent. Pure.

#include <set>
#include <string>
#include <vector>

#include "sdk/core/known_tasks.h"

namespace proffer::sdk {

// A task that the driver refuses without sending it.
struct LocalRefusal {
  TaskId task = {};
  AgentId agent = {};
  proto::TaskReason reason = proto::TaskReason::kNone;
  std::string message = {};
  proto::Labels labels = {};
  bool operator==(const LocalRefusal&) const = default;
};

struct AcceptPlan {
  proto::Accept accept = {};  // the part that is sent; it fits in a frame
  std::vector<LocalRefusal> refusals = {};
  std::vector<Error> complaints = {};  // reservations that cannot be sent
};

// Splits an accept into the part that can be sent and the tasks that are refused. A task is refused
// if one of its fields is invalid, its id is or was in use, or it does not fit in the message.
AcceptPlan plan_accept(const proto::Accept& accept, const KnownTasks& tasks);
// Refuses every task for the same reason, for example because the offers are not valid.
std::vector<LocalRefusal> refuse_all(const proto::Accept& accept, const std::string& why,
                                     proto::TaskReason reason = proto::TaskReason::kOfferNotValid);

}  // namespace proffer::sdk
