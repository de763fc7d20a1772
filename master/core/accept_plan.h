#pragma once

// The rules of an accept: which of its tasks are launched, with what, and why the others are not;
// what it reserves.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "allocator/allocator.h"
#include "master/core/agents.h"
#include "master/core/framework_store.h"
#include "master/core/frameworks.h"
#include "master/core/secrets.h"
#include "master/core/tasks.h"
#include "proto/messages.h"

namespace proffer::master {

// The outstanding offers of one gang, and for how many tasks they were made.
struct GangOffers {
  size_t offers = 0;
  int64_t tasks = 0;
  AskName ask = {};
};

// The offers that an accept names.
struct TakenOffers {
  std::vector<const Grant*> valid = {};  // each once
  // The first that is not outstanding, or not this framework's. Then nothing is launched.
  std::optional<OfferId> invalid = {};
  // All gangs with an offer that it names, whole.
  std::map<uint64_t, GangOffers> gangs = {};
  std::map<AgentId, PortSet> ports = {};  // free on their agents
  // How many further tasks each ask wants that a task of the accept names.
  std::map<AskName, int64_t> wanted = {};
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

// So much of an agent is reserved for a role from now on, or no longer.
struct ReservationChange {
  AgentId agent = {};
  RoleName role = {};
  Resources resources = {};
  bool unreserve = false;
};

// The offers of one agent, role and gang, and what is launched of them.
struct OffersUse {
  std::vector<OfferId> offers = {};
  std::vector<RunningTask> tasks = {};
};

struct AcceptPlan {
  std::vector<TaskLaunch> launches = {};             // in the order of the accept
  std::vector<TaskRefusal> refusals = {};            // in the order of the accept
  std::vector<OffersUse> uses = {};                  // of all valid offers, by agent
  std::vector<ReservationChange> reservations = {};  // in the order of the accept
  std::vector<Error> complaints = {};           // why an operation other than a launch is not done
  std::map<AgentId, uint16_t> next_ports = {};  // of agents whose ports are given: Agent::next_port
};

// What became of the asks that the offers of an accept were made for.
struct AcceptOutcome {
  bool has_offers = false;
  bool refused_any = false;         // tasks
  bool did_other = false;           // reserved something, or was told why not
  bool declines = false;            // refuses what it does not use for a time or a reason
  std::set<AskName> launched = {};  // asks with a launched task, whether offered for or not
  std::set<AskName> failed = {};    // asks that were offered for and have no launched task
};
AcceptOutcome outcome_of(const TakenOffers& taken, const AcceptPlan& plan);

// Reads only. Tasks of an ask that a gang's offers were made for are launched of those, all of the
// gang or none; what an operation reserves is offered again, to that role, and not used here.
// `stores`: of all frameworks, for one that remembers its tasks: their ids are used, and each
// launch takes room there. `secrets`: those that tasks may name; none: no task may. O((tasks +
// offers) * log n), and for tasks with ports the agent's port ranges.
AcceptPlan plan_accept(const proto::Accept& accept, const Framework& from, const TakenOffers& taken,
                       const Tasks& tasks, const Agents& agents,
                       const FrameworkStores* stores = nullptr,
                       const std::optional<SecretShelf>& secrets = {});

// The longest grace that a kill may give.
inline constexpr Duration kKillGraceMax = hours(24 * 365 * 10);

// Whether a framework may launch this, whatever it is offered. Errors: kInvalidArgument says which
// field is wrong.
Result<void> check_task(const proto::TaskSpec& spec);

}  // namespace proffer::master
