#pragma once

// The rules for an accept: which of its tasks are launched and with which resources, why the others
// are refused, and what the accept reserves.

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
  std::vector<const Grant*> valid = {};  // each listed once
  // The first id that is not outstanding or belongs to another framework. If there is one, nothing
  // is launched.
  std::optional<OfferId> invalid = {};
  // Each gang with an offer that the accept names, with all offers of the gang.
  std::map<uint64_t, GangOffers> gangs = {};
  std::map<AgentId, PortSet> ports = {};  // the free ports of each agent
  // The number of further tasks that an ask wants, for each ask that a task of the accept names.
  std::map<AskName, int64_t> wanted = {};
};

struct TaskLaunch {
  size_t operation = 0;  // index in the accept
  size_t task = 0;       // index in the operation
  proto::Assignment assignment = {};
};

struct TaskRefusal {
  size_t operation = 0;
  size_t task = 0;
  proto::TaskReason reason = proto::TaskReason::kNone;
  std::string message = {};
};

// An amount on an agent that becomes reserved for a role, or that is no longer reserved.
struct ReservationChange {
  AgentId agent = {};
  RoleName role = {};
  Resources resources = {};
  bool unreserve = false;
};

// The offers of one agent, role and gang, and the tasks that are launched on them.
struct OffersUse {
  std::vector<OfferId> offers = {};
  std::vector<RunningTask> tasks = {};
};

struct AcceptPlan {
  std::vector<TaskLaunch> launches = {};             // in the order of the accept
  std::vector<TaskRefusal> refusals = {};            // in the order of the accept
  std::vector<OffersUse> uses = {};                  // of all valid offers, by agent
  std::vector<ReservationChange> reservations = {};  // in the order of the accept
  std::vector<Error> complaints = {};  // why operations other than launches are not done
  // The new Agent::next_port of agents that assign ports.
  std::map<AgentId, uint16_t> next_ports = {};
};

// The result of an accept for the asks that its offers were made for.
struct AcceptOutcome {
  bool has_offers = false;
  bool refused_any = false;         // a task was refused
  bool did_other = false;           // reserved something, or got an error for it
  bool declines = false;            // gives a time or a reason with its unused resources
  std::set<AskName> launched = {};  // asks with a launched task, with or without an offer for them
  std::set<AskName> failed = {};    // asks with an offer and without a launched task
};
AcceptOutcome outcome_of(const TakenOffers& taken, const AcceptPlan& plan);

// Reads only. If offers were made for a gang, the tasks of its ask are launched on these offers:
// all tasks of the gang or none. Resources that an operation reserves are not used here; they are
// offered again, to that role. `stores`: the stores of all frameworks. For a framework that
// remembers its tasks, ids in its store count as used, and each launch needs room in the store.
// `secrets`: those that tasks may name; nullptr: tasks may name none. O((tasks + offers) * log n);
// tasks with ports also take time linear in the port ranges of the agent.
AcceptPlan plan_accept(const proto::Accept& accept, const Framework& from, const TakenOffers& taken,
                       const Tasks& tasks, const Agents& agents,
                       const FrameworkStores* stores = nullptr,
                       const std::optional<SecretShelf>& secrets = {});

// The longest grace period of a kill.
inline constexpr Duration kKillGraceMax = hours(24 * 365 * 10);

// Whether a framework may launch this task, regardless of its offers. Errors: kInvalidArgument
// names the wrong field.
Result<void> check_task(const proto::TaskSpec& spec);

}  // namespace proffer::master
