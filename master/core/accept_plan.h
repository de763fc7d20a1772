#pragma once

// The rules of an accept: which of its tasks are launched, with what, and why the others are not.

#include <map>
#include <string>
#include <vector>

#include "allocator/allocator.h"
#include "master/core/agents.h"
#include "master/core/tasks.h"
#include "proto/messages.h"

namespace proffer::master {

// The offers that an accept names.
struct TakenOffers {
  std::vector<const Grant*> valid = {};  // each once
  // The first that is not outstanding, or not this framework's. Then nothing is launched.
  std::optional<OfferId> invalid = {};
};

struct TaskLaunch {
  size_t operation = 0;  // of the accept
  size_t task = 0;       // of the operation
  proto::Assignment assignment = {};
};

struct TaskRefusal {
  size_t operation = 0;
  size_t task = 0;
  proto::TaskReason reason = proto::TaskReason::kNone;
  std::string message = {};
};

// The offers of one agent and what is launched of them.
struct OffersUse {
  std::vector<OfferId> offers = {};
  std::vector<RunningTask> tasks = {};
};

struct AcceptPlan {
  std::vector<TaskLaunch> launches = {};   // in the order of the accept
  std::vector<TaskRefusal> refusals = {};  // in the order of the accept
  std::vector<OffersUse> uses = {};        // of all valid offers, by agent
  std::map<AgentId, PortSet> ports = {};   // what the launches take
};

// Reads only. O((tasks + offers) * log n), and for tasks with ports the agent's port ranges.
AcceptPlan plan_accept(const proto::Accept& accept, const FrameworkId& from,
                       const TakenOffers& taken, const Tasks& tasks, const Agents& agents);

// Whether a framework may launch this, whatever it is offered. Errors: kInvalidArgument says which
// field is wrong.
Result<void> check_task(const proto::TaskSpec& spec);

}  // namespace proffer::master
