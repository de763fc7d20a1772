#pragma once

// The standing of a role among the others, and of a task among the possible victims, as values: the
// allocator computes them, JSON carries them, people read them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/explanation.h"
#include "common/ids.h"
#include "common/offers.h"
#include "common/resources.h"
#include "common/roles.h"
#include "common/time.h"

namespace proffer {

// Why an ask of a role is not met. If several reasons apply, the first in this order is reported.
enum class RoleHindrance : uint8_t {
  kNoOffers,      // its framework is not connected, or has suppressed offers
  kTasksUnknown,  // a role on its path has a limit, and not all of its tasks are known yet
  kLimit,         // the limit of a role on its path leaves too little
  kGuarantees,    // free resources are held for the guarantees of others
  kEntitlement,   // its role has its entitlement, and the ask may not borrow
  kComing,        // tasks of others have revoke notices for it
  kSetAside,      // agents are set aside for it until it fits
  kLent,          // its role has less than its entitlement, which others have borrowed
  kOwed,          // others are owed a task and come first
  kTooLittle,     // its role has its entitlement, or nothing is borrowed: no free resources fit
};
inline constexpr size_t kRoleHindranceCount = 10;
std::string_view to_text(RoleHindrance why);  // "no_offers", …
std::optional<RoleHindrance> parse_role_hindrance(std::string_view text);

// Unmet asks with the same hindrance.
struct HeldAsks {
  RoleHindrance why = RoleHindrance::kTooLittle;
  RoleName role = {};                     // the role of the limit or entitlement
  std::optional<ResourceKind> kind = {};  // the kind that is short
  int64_t asks = 0;
  int64_t tasks = 0;           // the tasks that they want
  Duration lag = {};           // the greatest of these asks (docs/concepts/fairness.md)
  FrameworkId framework = {};  // one of these asks
  AskName ask = {};
  int64_t wanted = 0;  // that it wants at once, of the kind, in milli-units
  int64_t left = 0;    // the most that is left
  // Some frameworks. Limit: those for which room below it is kept. Entitlement: others that use or
  // want the rest. Owed: those that come first.
  std::vector<Holder> rivals = {};
  std::string back = {};  // lent: why this ask does not get it back now; empty: not examined
  std::optional<Time> until = {};  // coming: the last deadline; lent: the earliest return
  bool operator==(const HeldAsks&) const = default;
};
std::string to_text(const HeldAsks& held);  // without the time

// A node beside or below the role.
struct NodeStanding {
  std::string name = {};  // a role, or a framework's id
  bool is_framework = false;
  bool wants = false;  // it has an unmet ask
  ResourceVector use = {};
  ResourceVector entitlement = {};
  ResourceVector borrowed = {};
  int64_t place_share_millionths = 0;  // its share in the comparison with its siblings
  Duration lag = {};                   // of a role: the greatest of the frameworks in it and below
  bool operator==(const NodeStanding&) const = default;
};

struct LimitStanding {
  RoleName role = {};
  Quota limit = {};
  ResourceVector use = {};
  bool operator==(const LimitStanding&) const = default;
};

// A task of another role that must end for this role.
struct ComingTask {
  FrameworkId framework = {};
  TaskId task = {};
  AgentId agent = {};
  RoleName role = {};
  Time deadline = {};
  bool operator==(const ComingTask&) const = default;
};

struct RoleExplanation {
  RoleName role = {};
  RoleSettings settings = {};
  ResourceVector total = {};  // of the cluster
  ResourceVector allocated = {};
  ResourceVector offered = {};
  ResourceVector entitlement = {};
  ResourceVector borrowed = {};
  ResourceKind dominant_kind = ResourceKind::kCpus;
  int64_t share_millionths = 0;              // dominant, unweighted
  int64_t place_share_millionths = 0;        // weighted; compared with its siblings
  Duration lag = {};                         // the greatest of the frameworks in it and below it
  Duration lag_most = {};                    // the greatest until now
  int64_t place = 0;                         // rank among siblings with demand; 0: no demand
  int64_t with_demand = 0;                   // nodes with demand: it and its siblings
  std::vector<NodeStanding> before = {};     // some siblings with demand and a smaller share
  bool guarantee_met = true;                 // met, or not wanted
  ResourceVector headroom = {};              // unused guarantees of it and the roles below it
  bool headroom_is_held = false;             // true if nothing is lent
  std::vector<LimitStanding> limits = {};    // of the role and the roles above it, from below
  int64_t asks_unmet = 0;                    // of the role and all roles below
  std::vector<HeldAsks> held = {};           // the reasons for these, most tasks first
  std::vector<NodeStanding> borrowers = {};  // if something is lent: largest first
  std::vector<ComingTask> coming = {};       // the first kNodesExplainedMax
  std::vector<NodeStanding> children = {};   // in order, the first kNodesExplainedMax
  int64_t children_all = 0;
  bool operator==(const RoleExplanation&) const = default;
};

// An ask for which a task would have to end.
struct Beneficiary {
  FrameworkId framework = {};
  AskName ask = {};
  RoleName role = {};
  std::optional<Time> from = {};  // not before this, when tasks are old enough; none: at once
  bool operator==(const Beneficiary&) const = default;
};

// The part of a role, or of the framework in it, that is above its entitlement.
struct OverStanding {
  std::string name = {};
  ResourceVector borrowed = {};
  bool operator==(const OverStanding&) const = default;
};

struct TaskStanding {
  RoleName role = {};  // the role that it counts in
  ResourceVector amounts = {};
  Band band = Band::kBatch;
  int32_t priority = 0;
  uint64_t gang = 0;
  Time since = {};
  bool is_lent = false;                      // uses resources that are set aside for others
  bool is_estimated = false;                 // uses resources only estimated to be free
  std::optional<Time> protected_until = {};  // it is too young to be preempted
  std::optional<Time> ends_by = {};          // it has had a revoke notice
  // Nodes on its path that are above their entitlement of a kind that it holds, so the kind is
  // borrowed.
  std::vector<OverStanding> over = {};
  RoleName guaranteed_by = {};               // the role whose guarantee protects it; empty: none
  std::vector<Beneficiary> victim_for = {};  // as things are now
  bool operator==(const TaskStanding&) const = default;
};

inline constexpr size_t kNodesExplainedMax = 50;

}  // namespace proffer
