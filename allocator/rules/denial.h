#pragma once

// What a leaf may be given, whatever is free: limits, at every level; what is held for the
// guarantees of others if nothing is lent; the entitlement, for asks that may not borrow. denial()
// first.
//
// An ask that may not borrow takes nothing that others are entitled to. Entitlements are of
// divisible tasks, so what two roles are entitled to may be less than a task of each; then both
// would wait for ever beside a cluster that nobody uses. So it may also have what others are
// entitled to but cannot be given: see left_by_others().

#include <cstdint>
#include <vector>

#include "allocator/rules/view.h"
#include "common/explanation.h"

namespace proffer::fair {

// What stands between a leaf and more resources, whatever agent they are on.
struct Denial {
  enum class Why : uint8_t { kNone, kLimit, kTasksUnknown, kGuarantees, kEntitlement };
  Why why = Why::kNone;
  const Role* role = nullptr;               // whose limit or entitlement
  ResourceKind kind = ResourceKind::kCpus;  // that is short
  int64_t left = 0;                         // of it, at most
  bool is_none() const { return why == Why::kNone; }
};

// What somebody wants of the cluster, wherever it may be.
struct Want {
  const Leaf& leaf;
  ResourceVector amounts = {};
  bool borrow = true;
  const AskEntry* claimant = nullptr;  // the ask, for which something may be set aside
  bool own_only = false;               // nothing of what others leave is given yet
  ResourceVector freed = {};           // so much more is free than is
};
Denial denial(const View& view, const Want& want);
// Of the least that the ask takes.
Denial denial(const View& view, const AskEntry& ask, bool own_only = false);
// The limit, of its role or one above, that the least that it takes is more than.
Denial exceeded_limit(const AskEntry& ask);
// How many tasks of the ask may be given at once, at most count_max; one may be.
int64_t permitted_count(const Cluster& cluster, const AskEntry& ask, int64_t count_max,
                        bool own_only);
// The most of each kind that the leaf may be given of open offers, which may always borrow.
ResourceVector permitted(const Cluster& cluster, const Leaf& leaf);

// Whether nothing is lent of what is promised to others.
bool holds_guarantees(const Cluster& cluster);
// Promised to others than those on the way to the leaf, and not used by them. O(roles with
// guarantees).
ResourceVector held_for_others(const View& view, const Leaf& leaf);
// What is promised to a role and those below it and that they do not use: in each kind the larger
// of its own promise and the sum of its children's. O(roles with guarantees below it).
ResourceVector unmet_guarantee(const View& view, const Role& role);
// Room that is kept below the role's limit for others than the claimant, in the kinds that the
// limit names; for a claimant that has room kept itself, only that of earlier ones.
ResourceVector kept_below(const View& view, const Role& role, const AskEntry* claimant);

// Entitlements and demands of all nodes are as of now, or of this decision.
void know_entitlements(const View& view);
// Whether no more than the role is entitled to, with what it uses.
bool is_within_entitlement(const View& view, const Role& role, const ResourceVector& more);
// Whether the role has what it is promised, or no ask that would still be within that and may be
// given as far as its own entitlement goes.
bool is_guarantee_met(const Cluster& cluster, const Role& role);

// Holders of what the role must not take, and asks for it, the largest first.
std::vector<Holder> others_entitled(const Cluster& cluster, const Role& role, ResourceKind kind);
// Asks for which room is kept below the role's limit, before this one.
std::vector<Holder> kept_for(const Role& role, const AskEntry* claimant, ResourceKind kind);

}  // namespace proffer::fair
