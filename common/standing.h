#pragma once

// How a role stands among the others, and a task among those that may have to end, as values: the
// allocator counts, JSON carries, people read.

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

// What keeps an ask of a role from being met. Of several the first in this order is told.
enum class RoleHindrance : uint8_t {
  kNoOffers,      // its framework is not connected, or has suppressed offers
  kTasksUnknown,  // a role on its path has a limit, and what runs there is not all known yet
  kLimit,         // the limit of a role on its path leaves too little
  kGuarantees,    // what is free is held for the guarantees of others
  kEntitlement,   // its role has what it is entitled to, and the ask may not borrow
  kComing,        // tasks of others have been told to end for it
  kSetAside,      // agents are set aside for it until it fits
  kLent,          // its role has less than it is entitled to: others have borrowed it
  kOwed,          // others are owed a task and come first
  kTooLittle,     // its role has its part, or nobody has borrowed: nothing that is free fits
};
inline constexpr size_t kRoleHindranceCount = 10;
std::string_view to_text(RoleHindrance why);  // "no_offers", …
std::optional<RoleHindrance> parse_role_hindrance(std::string_view text);

// Unmet asks that are held back by one thing.
struct HeldAsks {
  RoleHindrance why = RoleHindrance::kTooLittle;
  RoleName role = {};                     // whose limit or entitlement
  std::optional<ResourceKind> kind = {};  // that is short
  int64_t asks = 0;
  int64_t tasks = 0;           // that they want
  FrameworkId framework = {};  // one of these asks
  AskName ask = {};
  int64_t wanted = 0;  // by it at once, of the kind, in milli-units
  int64_t left = 0;    // at most
  // Some. Limit: those with room kept below it. Entitlement: others that use or want the rest.
  // Owed: those that come first.
  std::vector<Holder> rivals = {};
  std::string back = {};  // lent: why it does not come back now, of that ask; empty: not looked at
  std::optional<Time> until = {};  // coming: the last deadline; lent: when it may
  bool operator==(const HeldAsks&) const = default;
};
std::string to_text(const HeldAsks& held);  // without the time

// A node beside or below the role.
struct NodeStanding {
  std::string name = {};  // a role, or a framework's id
  bool is_framework = false;
  bool wants = false;  // something that it is not offered yet
  ResourceVector use = {};
  ResourceVector entitlement = {};
  ResourceVector borrowed = {};
  int64_t place_share_millionths = 0;  // by which siblings are compared
  bool operator==(const NodeStanding&) const = default;
};

struct LimitStanding {
  RoleName role = {};
  Quota limit = {};
  ResourceVector use = {};
  bool operator==(const LimitStanding&) const = default;
};

// A task of somebody else that is to end for the role.
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
  int64_t share_millionths = 0;            // dominant, unweighted
  int64_t place_share_millionths = 0;      // weighted, by which it is compared with its siblings
  int64_t place = 0;                       // among its siblings with demand, from 1; 0: it has none
  int64_t with_demand = 0;                 // of it and its siblings
  std::vector<NodeStanding> before = {};   // siblings of less share with demand, some
  bool guarantee_met = true;               // or not wanted
  ResourceVector headroom = {};            // promised to it or below it and not used
  bool headroom_is_held = false;           // nothing is lent
  std::vector<LimitStanding> limits = {};  // of it and the roles above it, from below
  int64_t asks_unmet = 0;                  // of it and all below
  std::vector<HeldAsks> held = {};         // why they are, most tasks first
  std::vector<NodeStanding> borrowers = {};  // if something is lent: the largest first
  std::vector<ComingTask> coming = {};       // the first kNodesExplainedMax
  std::vector<NodeStanding> children = {};   // in their order, the first kNodesExplainedMax
  int64_t children_all = 0;
  bool operator==(const RoleExplanation&) const = default;
};

// An ask that a task would have to end for.
struct Beneficiary {
  FrameworkId framework = {};
  AskName ask = {};
  RoleName role = {};
  std::optional<Time> from = {};  // not before this, when tasks are old enough; none: at once
  bool operator==(const Beneficiary&) const = default;
};

// What of a role, or of the framework in it, is above its entitlement.
struct OverStanding {
  std::string name = {};
  ResourceVector borrowed = {};
  bool operator==(const OverStanding&) const = default;
};

struct TaskStanding {
  RoleName role = {};  // that it counts in
  ResourceVector amounts = {};
  Band band = Band::kBatch;
  int32_t priority = 0;
  uint64_t gang = 0;
  Time since = {};
  bool is_lent = false;                      // of what is set aside for others
  bool is_estimated = false;                 // of what its agent only estimates to be free
  std::optional<Time> protected_until = {};  // it is too young to be told to end
  std::optional<Time> ends_by = {};          // it has had a notice
  // Nodes on its path that are above their entitlement of something that it holds: it is borrowed.
  std::vector<OverStanding> over = {};
  RoleName guaranteed_by = {};  // whose guarantee covers it, so that it is no victim; empty: none
  std::vector<Beneficiary> victim_for = {};  // as things are
  bool operator==(const TaskStanding&) const = default;
};

inline constexpr size_t kNodesExplainedMax = 50;

}  // namespace proffer
