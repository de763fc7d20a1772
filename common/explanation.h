#pragma once

// Why a framework has no offer, as values: the allocator counts, JSON carries, people read.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/offers.h"
#include "common/remedy.h"

namespace proffer {

// What stands between an agent and a task. Of several the first in this order is told.
enum class Hindrance : uint8_t {
  kNone,                // it could be offered now
  kNotConnected,        // the agent is away
  kDraining,            // the agent is being emptied
  kConstraint,          // the ask's constraint is not met
  kTotal,               // too little of the kind even if it were empty; gpus: or no device fits
  kPortsTotal,          // the same of ports
  kStaticPortTotal,     // the agent has no port of the number that the ask needs
  kDeclinedForTime,     // the framework declined it, for a while
  kDeclinedTooLittle,   // declined until it has more free of the kind
  kDeclinedAttributes,  // declined until it registers with other attributes
  kAlreadyOffered,      // the framework has an open offer of it
  kLimit,               // the limit of its role, or of one above, does not allow it
  kTasksUnknown,        // its role has a limit, and what runs there is not all known yet
  kGuarantees,          // what is free is held for the guarantees of others
  kEntitlement,         // its role is entitled to no more, and the ask may not borrow
  kMaxPer,              // as many tasks of the ask as it wants together are there
  kNotPreferred,        // the ask waits for where it would rather be
  kUsed,                // too little of the kind is free: tasks use it
  kPortsUsed,           // the same of ports
  kStaticPortUsed,      // a task uses the port of the number that the ask needs
  kOffered,             // too little is free, but there would be without the outstanding offers
  kReserved,            // enough is there, or free, but some of it is reserved for other roles
  kOwed,                // what is free is held for an ask that is owed a task
  kClaimed,             // what is free there is set aside for an ask that has waited longer
  kGang,                // a task of the ask would fit, but not its whole gang with other agents
};
inline constexpr size_t kHindranceCount = 25;
std::string_view to_text(Hindrance why);  // "not_connected", …
std::optional<Hindrance> parse_hindrance(std::string_view text);

// A framework that uses what others wait for, or that it is held for.
struct Holder {
  FrameworkId framework = {};
  ResourceVector amounts = {};
  int64_t agents = 0;  // on how many of them
  // If an ask of it is owed a task: in which role, and what this ask is entitled to of the kind
  // that both take; `amounts` is what it has.
  RoleName role = {};
  ResourceVector entitled = {};
  bool operator==(const Holder&) const = default;
};

// Agents that are out for one reason.
struct HinderedAgents {
  Hindrance why = Hindrance::kNone;
  // Of total, used, owed, declined for too little, limit, guarantees, entitlement.
  std::optional<ResourceKind> kind = {};
  RoleName role = {};           // whose limit or entitlement
  std::string constraint = {};  // or the attributes of max_per
  // Constraint: some values that the agents have of its attribute; none: none has it.
  std::vector<std::string> values = {};
  int64_t agents = 0;
  AgentId example = {};  // one of them
  // Of the kind in milli-units, or ports: what a task takes, and the most that any of them has
  // (used: has free; limit, guarantees, entitlement: what of it is left). Of gpus that which such a
  // task could use: of one device, or whole ones. Gang: tasks.
  int64_t wanted = 0;
  int64_t most = 0;
  // Declined for a time, waits for where it would rather be: when the first of these ends.
  std::optional<Time> until = {};
  // Some, the largest first. Used, offered, claimed, owed: the holders. Limit: those with room kept
  // below it, before this ask. Entitlement: other users of the kind, and asks for it.
  std::vector<Holder> holders = {};
  bool operator==(const HinderedAgents&) const = default;
};
// "has too little cpus in all: 16 wanted, at most 4 there", for people; without the count.
std::string to_text(const HinderedAgents& hindered);

// An ask that is not met.
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
  // If it could not: what of the ask would have to be otherwise for it to fit some agent.
  std::vector<HinderedAgents> changes = {};
  AgentId claimed = {};  // the agent that is set aside for it
  // When it has room for it if tasks run as long as they say, by expected duration or time limit.
  // Nothing: tasks there do not say.
  std::optional<Time> claim_complete_at = {};
  // Asks that are owed a task and come before it, which is not owed any; some.
  std::vector<Holder> first = {};
  // Each alone would make it fit, all else as it is; then it is offered when its turn comes.
  std::vector<Remedy> remedies = {};
  bool operator==(const AskExplanation&) const = default;
};

// "it takes 16 cpus, but the most that an agent has is 4", of an ask that could never fit.
std::string changes_text(const AskExplanation& ask);
// "f (cpus:2), g", after `by`; nothing if there are none.
std::string holders_text(const std::vector<Holder>& holders, std::string_view by);
// "eng/f, which is entitled to 33 cpus and has 19", of those that are owed a task.
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
  int64_t place = 0;                  // among those with demand, the first is 1; 0: it has none
  int64_t with_demand = 0;
  std::vector<Rival> before = {};  // those of less share with demand, the least first; some
  int64_t agents = 0;
  int64_t agents_active = 0;
  int64_t declined = 0;                   // agents that its own declines keep away now
  std::vector<AskExplanation> asks = {};  // unmet; the first kAsksExplainedMax
  int64_t asks_unmet = 0;
  // Of a framework that takes open offers: why it has none of each agent.
  int64_t usable = 0;
  std::vector<HinderedAgents> hindered = {};
  bool operator==(const FrameworkExplanation&) const = default;
};

// Each takes a look at each agent.
inline constexpr int64_t kAsksExplainedMax = 16;
// Of a list of names; people do not read more.
inline constexpr size_t kNamesExplainedMax = 5;

}  // namespace proffer
