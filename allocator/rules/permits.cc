// What a leaf may be given, whatever is free: limits, at every level; what is held for the
// guarantees of others if nothing is lent; the entitlement, for asks that may not borrow. barred()
// first.
//
// An ask that may not borrow takes nothing that others are entitled to. Entitlements are of
// divisible tasks, so what two roles are entitled to may be less than a task of each; then both
// would wait for ever beside a cluster that nobody uses. So it may also have what others are
// entitled to but cannot be given: see left_by_others().

#include <algorithm>

#include "allocator/rules/entitlement.h"
#include "allocator/state.h"

namespace proffer {

void Allocator::State::know_entitlements() const {
  if (entitlements_known_) return;
  fair::compute_entitlements(tree_.root(), usable_total());
  entitlements_known_ = true;
}

// Whether no more than the role is entitled to, with what it uses.
bool Allocator::State::is_within_entitlement(const Role& role, const ResourceVector& more) const {
  know_entitlements();
  const ResourceVector then = role.use() + more;
  return std::all_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
    return more[kind] == 0 || then[kind] <= role.entitlement[kind];
  });
}

// What the node is entitled to and uses, or could still be given: what it asks for, but for asks
// that may not borrow and are more than their role is entitled to, and for those that no agent
// could ever fit. O(asks below it), and O(agents) for an ask of which that is not known.
ResourceVector Allocator::State::attainable(const fair::Node& node) const {
  const ResourceVector& most = node.entitlement;
  ResourceVector sum = node.use().min(most);
  const auto add = [&](const Leaf& l) {
    if (!l.wants_offers()) return;
    if (l.mode == OfferMode::kOpen) sum = most;
    for (const AskEntry* ask : l.order) {
      if (sum == most) return;
      int64_t count = ask->unmet();
      if (count == 0 || !could_be_served(*ask)) continue;
      if (!ask->ask.borrow && !is_within_entitlement(*l.role, ask->at_once())) continue;
      for (const ResourceKind kind : kResourceKinds) {
        const int64_t each = ask->ask.shape[kind];
        if (each > 0) count = std::min(count, kAmountMax / each + 1);  // As good as more.
      }
      sum = (sum + ask->ask.shape * count).min(most);
    }
  };
  if (node.is_leaf) {
    add(static_cast<const Leaf&>(node));
  } else {
    fair::for_each_leaf(static_cast<const Role&>(node), add);
  }
  return sum;
}

// What the role may have without taking anything that others are entitled to and use or could be
// given. O(asks beside it).
ResourceVector Allocator::State::left_by_others(const Role& role) const {
  know_entitlements();
  ResourceVector left = tree_.root().entitlement;
  for (const fair::Node* node = &role; node->parent != nullptr; node = node->parent) {
    fair::for_each_child(*node->parent, [&](const fair::Node& sibling) {
      if (&sibling != node) left -= attainable(sibling);
    });
  }
  return left;
}

// Who holds that, or asks for it, most first.
std::vector<Holder> Allocator::State::others_entitled(const Role& role, ResourceKind kind) const {
  know_entitlements();
  std::vector<Holder> found;
  const auto add = [&](const Leaf& l) {
    const ResourceVector amounts = attainable(l);
    if (amounts[kind] == 0) return;
    Holder holder{.framework = l.framework};
    holder.amounts[kind] = amounts[kind];
    found.push_back(std::move(holder));
  };
  for (const fair::Node* node = &role; node->parent != nullptr; node = node->parent) {
    for (const auto& [name, sibling] : node->parent->roles) {
      if (sibling != node) fair::for_each_leaf(*sibling, add);
    }
    for (const auto& [id, sibling] : node->parent->leaves) {
      if (sibling != node) add(*sibling);
    }
  }
  std::stable_sort(found.begin(), found.end(), [&](const Holder& a, const Holder& b) {
    return a.amounts[kind] > b.amounts[kind];
  });
  if (found.size() > kNamesExplainedMax) found.resize(kNamesExplainedMax);
  return found;
}

// For whom room is kept below the role's limit, before this ask.
std::vector<Holder> Allocator::State::kept_for(const Role& role, const AskEntry* claimant,
                                               ResourceKind kind) const {
  std::vector<Holder> found;
  for (const AskEntry* ask : role.headroom) {
    if (ask == claimant || found.size() == kNamesExplainedMax) break;
    Holder holder{.framework = ask->leaf->framework};
    holder.amounts[kind] = ask->at_once()[kind];
    if (holder.amounts[kind] > 0) found.push_back(std::move(holder));
  }
  return found;
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
  if (!borrow && !is_within_entitlement(*l.role, more)) {
    ResourceVector left = l.role->entitlement;
    if (!own_only_) left = left.max(left_by_others(*l.role));
    left -= l.role->use();
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
