#pragma once

// What becomes of an accept before it is sent. Pure.

#include <set>
#include <string>
#include <vector>

#include "sdk/core/known_tasks.h"

namespace proffer::sdk {

// A task that the driver refuses itself.
struct LocalRefusal {
  TaskId task = {};
  AgentId agent = {};
  proto::TaskReason reason = proto::TaskReason::kNone;
  std::string message = {};
  proto::Labels labels = {};
  bool operator==(const LocalRefusal&) const = default;
};

struct AcceptPlan {
  proto::Accept accept = {};  // what is sent, within the bounds of a frame
  std::vector<LocalRefusal> refusals = {};
  std::vector<Error> complaints = {};  // of reservations that cannot be sent
};

// Splits what the author accepts into what can be sent and what cannot. A task is refused if a
// field of it is wrong, its id is in use or was, or it does not fit in the message.
AcceptPlan plan_accept(const proto::Accept& accept, const KnownTasks& tasks);
// Refuses every task, since the offers are not valid, or for another reason of all of them.
std::vector<LocalRefusal> refuse_all(const proto::Accept& accept, const std::string& why,
                                     proto::TaskReason reason = proto::TaskReason::kOfferNotValid);

}  // namespace proffer::sdk
