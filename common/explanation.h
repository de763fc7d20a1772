#pragma once

// The reasons why a framework has no offer, as values: the allocator computes them, JSON carries
// them, people read them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/offers.h"
#include "common/remedy.h"

namespace proffer {

// Why an agent does not fit a task. If several reasons apply, the first in this order is reported.
enum class Hindrance : uint8_t {
  kNone,                // the agent could be offered now
  kNotConnected,        // the agent is away
  kDraining,            // the agent is being drained
  kConstraint,          // the ask's constraint is not met
  kTotal,               // the empty agent has too little of the kind; gpus: or no device fits
  kPortsTotal,          // the same for ports
  kStaticPortTotal,     // the agent has no port of the number that the ask needs
  kDeclinedForTime,     // the framework declined it, for a while
  kDeclinedTooLittle,   // declined until it has more free of the kind
  kDeclinedAttributes,  // declined until it registers with other attributes
  kAlreadyOffered,      // the framework has an open offer of it
  kLimit,               // the limit of its role, or of one above, does not allow it
  kTasksUnknown,        // its role has a limit, and what runs there is not all known yet
  kGuarantees,          // free resources are held for the guarantees of other roles
  kEntitlement,         // its role is entitled to no more, and the ask may not borrow
  kMaxPer,              // the ask already has as many tasks there as its max_per allows
  kNotPreferred,        // the ask is in its locality wait
  kUsed,                // too little of the kind is free: tasks use it
  kPortsUsed,           // the same for ports
  kStaticPortUsed,      // a task uses the port of the number that the ask needs
  kOffered,             // too little is free; with the outstanding offers it would suffice
  kReserved,            // it would suffice, but some of it is reserved for other roles
  kOwed,                // free resources are held for an ask that is owed a task
  kClaimed,             // free resources there are kept for an ask that has waited longer
  kGang,                // a task of the ask would fit, but not its whole gang with other agents
};
inline constexpr size_t kHindranceCount = 25;
std::string_view to_text(Hindrance why);  // "not_connected", …
std::optional<Hindrance> parse_hindrance(std::string_view text);

// A framework that uses resources that others wait for, or for which resources are held.
struct Holder {
  FrameworkId framework = {};
  ResourceVector amounts = {};
  int64_t agents = 0;  // the number of agents on which it uses or holds them
  // If an ask of the framework is owed a task: its role, and the ask's entitlement of the kind that
  // both asks take. `amounts` is then its use.
  RoleName role = {};
  ResourceVector entitled = {};
  bool operator==(const Holder&) const = default;
};

// Agents that do not fit for the same reason.
struct HinderedAgents {
  Hindrance why = Hindrance::kNone;
  // Set for total, used, owed, too little, limit, guarantees and entitlement.
  std::optional<ResourceKind> kind = {};
  RoleName role = {};           // the role of the limit or entitlement
  std::string constraint = {};  // the constraint, or the attributes of max_per
  // For constraint: some of the agents' values of its attribute; empty if none has the attribute.
  std::vector<std::string> values = {};
  int64_t agents = 0;
  AgentId example = {};  // one of them
  // The amount that a task takes, and the most that any of these agents has, in milli-units of the
  // kind, or ports. Used: the most that is free. Limit, guarantees, entitlement: the rest of it.
  // Gpus: the amount that such a task could use, of one device or as whole devices. Gang: tasks.
  int64_t wanted = 0;
  int64_t most = 0;
  // For declined for a time, and locality wait: when the first of these ends.
  std::optional<Time> until = {};
  // Some frameworks, largest first. Used, offered, claimed, owed: the holders. Limit: those for
  // which room below the limit is kept before this ask. Entitlement: those that use the kind, or
  // ask for it.
  std::vector<Holder> holders = {};
  bool operator==(const HinderedAgents&) const = default;
};
// "has too little cpus in all: 16 wanted, at most 4 there", for people; without the count.
std::string to_text(const HinderedAgents& hindered);

// An unmet ask.
struct AskExplanation {
  AskName ask = {};
  ResourceVector shape = {};
  int64_t ports = 0;
  bool constrained = false;
  int64_t wanted = 0;   // not yet launched
  int64_t offered = 0;  // of these, in outstanding offers
  int64_t usable = 0;   // agents that it could be offered now, if it were its turn
  std::vector<HinderedAgents> hindered = {};  // all other agents, most first
  bool could_ever_fit = true;
  // If it could not be offered at any time: the changes to the ask that would make it fit some
  // agent.
  std::vector<HinderedAgents> changes = {};
  AgentId claimed = {};  // the agent that is kept for it
  // When that agent has room for the ask, if the tasks there end after their expected duration or
  // time limit. Empty if they declare neither.
  std::optional<Time> claim_complete_at = {};
  // Some of the asks that are owed a task, and so come before this one, which is owed none.
  std::vector<Holder> first = {};
  // Each remedy alone would make the ask fit, all else being equal. It is then offered in its turn.
  std::vector<Remedy> remedies = {};
  bool operator==(const AskExplanation&) const = default;
};

// "it takes 16 cpus, but the most that an agent has is 4", for an ask that could never fit.
std::string changes_text(const AskExplanation& ask);
// "f (cpus:2), g", after `by`; empty if there are none.
std::string holders_text(const std::vector<Holder>& holders, std::string_view by);
// "eng/f, which is entitled to 33 cpus and has 19", for holders that are owed a task.
std::string owed_text(const std::vector<Holder>& owed);

// A framework that comes before this one.
struct Rival {
  FrameworkId framework = {};
  int64_t share_millionths = 0;  // dominant, unweighted
  bool operator==(const Rival&) const = default;
};

struct FrameworkExplanation {
  FrameworkId framework = {};
  RoleName role = {};
  OfferMode mode = OfferMode::kAsks;
  bool active = true;  // its scheduler is connected
  bool suppressed = false;
  ResourceVector total = {};  // of the cluster
  ResourceVector allocated = {};
  ResourceVector offered = {};
  ResourceKind dominant_kind = ResourceKind::kCpus;
  int64_t share_millionths = 0;       // dominant, unweighted
  int64_t weight = kWeightOne;        // of its role
  int64_t role_share_millionths = 0;  // the role's dominant share, divided by its weight
  int64_t place = 0;  // rank among frameworks with demand, from 1; 0: it has no demand
  int64_t with_demand = 0;
  std::vector<Rival> before = {};  // some of those with demand and a smaller share, smallest first
  int64_t agents = 0;
  int64_t agents_active = 0;
  int64_t declined = 0;                   // agents that its own declines exclude now
  std::vector<AskExplanation> asks = {};  // unmet; the first kAsksExplainedMax
  int64_t asks_unmet = 0;
  // If the framework takes open offers: why it is not offered each agent.
  int64_t usable = 0;
  std::vector<HinderedAgents> hindered = {};
  bool operator==(const FrameworkExplanation&) const = default;
};

// Each explained ask examines every agent.
inline constexpr int64_t kAsksExplainedMax = 16;
// The most names that are shown from a list.
inline constexpr size_t kNamesExplainedMax = 5;

}  // namespace proffer
