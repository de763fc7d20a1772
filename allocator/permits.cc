// What a leaf may be given, whatever is free: limits, at every level; what is held for the
// guarantees of others if nothing is lent; the entitlement, for asks that may not borrow. barred()
// first.

#include <algorithm>

#include "allocator/entitlement.h"
#include "allocator/state.h"

namespace proffer {

void Allocator::State::know_entitlements() const {
  if (entitlements_known_) return;
  fair::compute_entitlements(tree_.root(), shares_dirty_ ? compute_total() : total_);
  entitlements_known_ = true;
}

// `claimant`: who wants it, for whom something may be set aside.
Allocator::State::Bar Allocator::State::barred(const Leaf& l, const ResourceVector& more,
                                               bool borrow, const AskEntry* claimant,
                                               const ResourceVector& freed) const {
  bool is_promised = false;  // to a role below: that comes before what is kept for others
  for (const Role* role = l.role; role->parent != nullptr; role = role->parent) {
    if (role->has_limit()) {
      // Somebody may still come back with tasks that count in it.
      if (!knows_all_tasks_) return {Bar::Why::kTasksUnknown, role};
      const ResourceVector use = role->use();
      const ResourceVector kept = is_promised ? ResourceVector() : kept_below(*role, claimant);
      for (const ResourceKind kind : kResourceKinds) {
        const std::optional<int64_t> limit = role->settings.limit[kind];
        const int64_t used = use[kind] + (more[kind] > 0 ? kept[kind] : 0);
        if (!limit || used + more[kind] <= *limit) continue;
        return {Bar::Why::kLimit, role, kind, std::max<int64_t>(*limit - used, 0)};
      }
    }
    is_promised = is_promised || (role->has_guarantee() && fair::is_within_guarantee(*role, more));
  }
  if (!borrow) {
    know_entitlements();
    const ResourceVector left = l.role->entitlement - l.role->use();
    for (const ResourceKind kind : kResourceKinds) {
      if (more[kind] == 0 || more[kind] <= left[kind]) continue;
      return {Bar::Why::kEntitlement, l.role, kind, std::max<int64_t>(left[kind], 0)};
    }
  }
  if (options_.reclaim == ReclaimMode::kOff && !tree_.root().promised.empty()) {
    ResourceVector left = free_.sum(l.role->name) + freed - held_for_others(l);
    if (claimant != nullptr) {
      for (const fair::Claimed& claimed : claimant->claim) left += claimed.agent->free.amounts;
    }
    for (const ResourceKind kind : kResourceKinds) {
      if (more[kind] == 0 || more[kind] <= left[kind]) continue;
      return {Bar::Why::kGuarantees, nullptr, kind, std::max<int64_t>(left[kind], 0)};
    }
  }
  return {};
}

Allocator::State::Bar Allocator::State::barred(const AskEntry& ask) const {
  return barred(*ask.leaf, ask.at_once(), ask.ask.borrow, &ask);
}

int64_t Allocator::State::permitted_count(const AskEntry& ask, const Turn& turn,
                                          int64_t count_max) const {
  // The least filled guarantee first, so one task at a time.
  if (!turn.within.empty()) return std::min<int64_t>(count_max, 1);
  const bool has_limit = [&] {
    for (const Role* role = ask.leaf->role; role->parent != nullptr; role = role->parent) {
      if (role->has_limit()) return true;
    }
    return false;
  }();
  const bool is_held = options_.reclaim == ReclaimMode::kOff && !tree_.root().promised.empty();
  if (!has_limit && ask.ask.borrow && !is_held) return count_max;
  // The largest count that is not barred; one is not.
  int64_t allowed = 1;
  int64_t refused = count_max + 1;
  while (refused - allowed > 1) {
    const int64_t middle = allowed + (refused - allowed) / 2;
    const Bar bar = barred(*ask.leaf, ask.ask.shape * middle, ask.ask.borrow, &ask);
    (bar.is_none() ? allowed : refused) = middle;
  }
  return allowed;
}

// For open offers, which may always borrow.
ResourceVector Allocator::State::permitted(const Leaf& l) const {
  ResourceVector most = ResourceVector::of(kAmountMax, kAmountMax, kAmountMax, kAmountMax);
  for (const Role* role = l.role; role->parent != nullptr; role = role->parent) {
    if (!role->has_limit()) continue;
    const ResourceVector use = role->use();
    if (!knows_all_tasks_ || !role->settings.limit.contains(use)) return {};
    most = most.min(role->settings.limit.amounts(most + use) - use - kept_below(*role, nullptr));
  }
  if (options_.reclaim == ReclaimMode::kOff && !tree_.root().promised.empty()) {
    most = most.min(free_.sum(l.role->name) - held_for_others(l));
  }
  return most.max(ResourceVector());
}

// Promised to others than those on the way to the leaf, and not used by them. O(roles with
// guarantees).
ResourceVector Allocator::State::held_for_others(const Leaf& l) const {
  ResourceVector held;
  for (const fair::Node* node = &l; node->parent != nullptr; node = node->parent) {
    for (const Role* sibling : node->parent->promised) {
      if (sibling != node) held += fair::unmet_guarantee(*sibling);
    }
  }
  return held;
}

void Allocator::State::note_barred(Leaf& l, const Bar& bar) {
  if (bar.why == Bar::Why::kLimit) {
    Role& role = *tree_.find(bar.role->name);
    role.blocked.insert(&l);
    role.use_when_blocked = role.use();
    blocking_.insert(&role);
  } else if (bar.why == Bar::Why::kGuarantees || bar.why == Bar::Why::kEntitlement) {
    held_back_.insert(&l);
  }
}

}  // namespace proffer
