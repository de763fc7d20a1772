#pragma once

// The most that a leaf may get, regardless of the free amounts: limits at every level; amounts held
// for the guarantees of others if nothing is lent; the entitlement, for asks that may not borrow.
// Begin with denial().
//
// An ask that may not borrow takes nothing that others are entitled to. Entitlements assume
// divisible tasks, so the entitlements of two roles may each be less than one task; then both would
// wait forever beside an idle cluster. So such an ask may also have resources that others are
// entitled to but cannot use: see left_by_others().

#include <cstdint>
#include <vector>

#include "allocator/rules/view.h"
#include "common/explanation.h"

namespace proffer::fair {

// The rule that denies a leaf more resources, on any agent.
struct Denial {
  enum class Why : uint8_t { kNone, kLimit, kTasksUnknown, kGuarantees, kEntitlement };
  Why why = Why::kNone;
  const Role* role = nullptr;               // the role with the limit or entitlement
  ResourceKind kind = ResourceKind::kCpus;  // the exhausted kind
  int64_t left = 0;                         // the rest of the kind, at most
  bool is_none() const { return why == Why::kNone; }
};

// A want of resources, on any agent.
struct Want {
  const Leaf& leaf;
  ResourceVector amounts = {};
  bool borrow = true;
  const AskEntry* claimant = nullptr;  // the ask, which may have resources set aside
  bool own_only = false;               // excludes resources that others leave
  ResourceVector freed = {};           // amounts to add to the free ones
};
Denial denial(const View& view, const Want& want);
// The denial of the smallest amount that the ask accepts.
Denial denial(const View& view, const AskEntry& ask, bool own_only = false);
// The limit, of its role or a role above, that is less than the smallest amount that the ask
// accepts.
Denial exceeded_limit(const AskEntry& ask);
// The number of tasks that the ask may get at once, at most count_max. Requires that one task is
// permitted.
int64_t permitted_count(const Cluster& cluster, const AskEntry& ask, int64_t count_max,
                        bool own_only);
// The maximum of each kind that the leaf may get in open offers, which may always borrow.
ResourceVector permitted(const Cluster& cluster, const Leaf& leaf);

// Whether unused guarantees are held, not lent.
bool holds_guarantees(const Cluster& cluster);
// Unused guarantees of roles that are not above the leaf. O(roles with guarantees).
ResourceVector held_for_others(const View& view, const Leaf& leaf);
// The unused guarantees of a role and the roles below it: in each kind the larger of its own unused
// guarantee and the sum over its children. O(roles with guarantees below it).
ResourceVector unmet_guarantee(const View& view, const Role& role);
// Headroom kept below the role's limit for asks other than the claimant, in the kinds that the
// limit names. If the claimant has headroom itself: only that of earlier asks.
ResourceVector kept_below(const View& view, const Role& role, const AskEntry* claimant);

// Computes the entitlements and demands of all nodes, unless they are those of now, or of this
// decision, already.
void know_entitlements(const View& view);
// Whether `more` and the role's use are within its entitlement.
bool is_within_entitlement(const View& view, const Role& role, const ResourceVector& more);
// Whether the role's guarantee is met, or none of its asks would still be within it and permitted
// by the entitlement.
bool is_guarantee_met(const Cluster& cluster, const Role& role);

// Roles that hold, or ask for, resources that the role must not take, the largest first.
std::vector<Holder> others_entitled(const Cluster& cluster, const Role& role, ResourceKind kind);
// Asks with headroom below the role's limit that come before this one.
std::vector<Holder> kept_for(const Role& role, const AskEntry* claimant, ResourceKind kind);

}  // namespace proffer::fair
