// Denials of further resources to a leaf. Begin with denial().

#include "allocator/rules/denial.h"

#include <algorithm>

#include "allocator/rules/entitlement.h"
#include "allocator/rules/fit.h"

namespace proffer::fair {

void know_entitlements(const View& view) {
  if (view.entitlements_known()) return;
  compute_entitlements(view);
  view.entitlements_known() = true;
}

bool is_within_entitlement(const View& view, const Role& role, const ResourceVector& more) {
  know_entitlements(view);
  const ResourceVector then = view.use(role) + more;
  return std::all_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
    return more[kind] == 0 || then[kind] <= view.entitlement(role)[kind];
  });
}

namespace {

// The part of the node's entitlement that it uses or could still get: its asks, except those that
// may not borrow and exceed their role's entitlement, and those that no agent could ever fit.
// O(asks below it), and O(agents) for an ask whose fit is not cached.
ResourceVector attainable(const View& view, const Node& node) {
  const ResourceVector& most = view.entitlement(node);
  ResourceVector sum = view.use(node).min(most);
  const auto add = [&](const Leaf& l) {
    if (!view.wants_offers(l)) return;
    if (l.mode == OfferMode::kOpen && !l.refuses) sum = most;
    for (const AskEntry* ask : l.order) {
      if (ask->is_refused) continue;
      if (sum == most) return;
      int64_t count = view.unmet(*ask);
      if (count == 0 || !could_be_served(view.cluster, *ask)) continue;
      if (!ask->ask.borrow && !is_within_entitlement(view, *l.role, ask->at_once())) continue;
      for (const ResourceKind kind : kResourceKinds) {
        const int64_t each = ask->ask.shape[kind];
        if (each > 0) count = std::min(count, kAmountMax / each + 1);  // More makes no difference.
      }
      sum = (sum + ask->ask.shape * count).min(most);
    }
  };
  if (node.is_leaf) {
    add(static_cast<const Leaf&>(node));
  } else {
    for_each_leaf(static_cast<const Role&>(node), add);
  }
  return sum;
}

// The amounts that the role may have without those that others are entitled to and use or could
// get. O(asks beside it).
ResourceVector left_by_others(const View& view, const Role& role) {
  know_entitlements(view);
  ResourceVector left = view.entitlement(view.cluster.tree.root());
  for (const Node* node = &role; node->parent != nullptr; node = node->parent) {
    for_each_child(*node->parent, [&](const Node& sibling) {
      if (&sibling != node) left -= attainable(view, sibling);
    });
  }
  return left;
}

}  // namespace

ResourceVector kept_below(const View& view, const Role& role, const AskEntry* claimant) {
  ResourceVector sum;
  if (role.headroom.empty()) return sum;
  for (const AskEntry* ask : role.headroom) {
    if (!view.has_headroom_below(*ask)) continue;
    if (ask == claimant) break;
    sum += ask->at_once();
  }
  for (const ResourceKind kind : kResourceKinds) {
    if (!view.settings(role).limit[kind]) sum[kind] = 0;
  }
  return sum;
}

std::vector<Holder> others_entitled(const Cluster& cluster, const Role& role, ResourceKind kind) {
  know_entitlements(cluster);
  std::vector<Holder> found;
  const auto add = [&](const Leaf& l) {
    const ResourceVector amounts = attainable(cluster, l);
    if (amounts[kind] == 0) return;
    Holder holder{.framework = l.framework};
    holder.amounts[kind] = amounts[kind];
    found.push_back(std::move(holder));
  };
  for (const Node* node = &role; node->parent != nullptr; node = node->parent) {
    for (const auto& [name, sibling] : node->parent->roles) {
      if (sibling != node) for_each_leaf(*sibling, add);
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

std::vector<Holder> kept_for(const Role& role, const AskEntry* claimant, ResourceKind kind) {
  std::vector<Holder> found;
  for (const AskEntry* ask : role.headroom) {
    if (ask == claimant || found.size() == kNamesExplainedMax) break;
    Holder holder{.framework = ask->leaf->framework};
    holder.amounts[kind] = ask->at_once()[kind];
    if (holder.amounts[kind] > 0) found.push_back(std::move(holder));
  }
  return found;
}

Denial denial(const View& view, const Want& want) {
  const Leaf& l = want.leaf;
  const ResourceVector& more = want.amounts;
  bool is_promised = false;  // guaranteed to a lower role: comes before resources kept for others
  for (const Role* role = l.role; role->parent != nullptr; role = role->parent) {
    const ResourceVector use = view.use(*role);
    if (view.has_limit(*role)) {
      // Agents may still report tasks that count in the role.
      if (!view.cluster.knows_all_tasks) return {Denial::Why::kTasksUnknown, role};
      const ResourceVector kept =
          is_promised ? ResourceVector() : kept_below(view, *role, want.claimant);
      for (const ResourceKind kind : kResourceKinds) {
        const std::optional<int64_t> limit = view.settings(*role).limit[kind];
        const int64_t used = use[kind] + (more[kind] > 0 ? kept[kind] : 0);
        if (!limit || used + more[kind] <= *limit) continue;
        return {Denial::Why::kLimit, role, kind, std::max<int64_t>(*limit - used, 0)};
      }
    }
    is_promised =
        is_promised || (view.has_guarantee(*role) && is_within_guarantee(*role, use, more));
  }
  if (!want.borrow && !is_within_entitlement(view, *l.role, more)) {
    ResourceVector left = view.entitlement(*l.role);
    if (!want.own_only) left = left.max(left_by_others(view, *l.role));
    left -= view.use(*l.role);
    for (const ResourceKind kind : kResourceKinds) {
      if (more[kind] == 0 || more[kind] <= left[kind]) continue;
      return {Denial::Why::kEntitlement, l.role, kind, std::max<int64_t>(left[kind], 0)};
    }
  }
  if (holds_guarantees(view.cluster)) {
    ResourceVector left =
        view.cluster.free_agents.sum(l.role->name) + want.freed - held_for_others(view, l);
    if (want.claimant != nullptr) {
      for (const Agent* a : want.claimant->set_aside) {
        if (!a->by_notice()) left += a->is_set_aside() ? a->free.amounts : a->kept.amounts;
      }
    }
    for (const ResourceKind kind : kResourceKinds) {
      if (more[kind] == 0 || more[kind] <= left[kind]) continue;
      return {Denial::Why::kGuarantees, nullptr, kind, std::max<int64_t>(left[kind], 0)};
    }
  }
  return {};
}

Denial denial(const View& view, const AskEntry& ask, bool own_only) {
  return denial(view, {.leaf = *ask.leaf,
                       .amounts = ask.at_once(),
                       .borrow = ask.ask.borrow,
                       .claimant = &ask,
                       .own_only = own_only});
}

int64_t permitted_count(const Cluster& cluster, const AskEntry& ask, int64_t count_max,
                        bool own_only) {
  const bool has_limit = [&] {
    for (const Role* role = ask.leaf->role; role->parent != nullptr; role = role->parent) {
      if (role->has_limit()) return true;
    }
    return false;
  }();
  if (!has_limit && ask.ask.borrow && !holds_guarantees(cluster)) return count_max;
  // Searches the largest count that is not denied; one is permitted.
  int64_t allowed = 1;
  int64_t refused = count_max + 1;
  while (refused - allowed > 1) {
    const int64_t middle = allowed + (refused - allowed) / 2;
    const Denial of_so_many = denial(cluster, {.leaf = *ask.leaf,
                                               .amounts = ask.ask.shape * middle,
                                               .borrow = ask.ask.borrow,
                                               .claimant = &ask,
                                               .own_only = own_only});
    (of_so_many.is_none() ? allowed : refused) = middle;
  }
  return allowed;
}

ResourceVector permitted(const Cluster& cluster, const Leaf& l) {
  ResourceVector most = ResourceVector::of(kAmountMax, kAmountMax, kAmountMax, kAmountMax);
  for (const Role* role = l.role; role->parent != nullptr; role = role->parent) {
    if (!role->has_limit()) continue;
    const ResourceVector use = role->use();
    if (!cluster.knows_all_tasks || !role->settings.limit.contains(use)) return {};
    most = most.min(role->settings.limit.amounts(most + use) - use -
                    kept_below(cluster, *role, nullptr));
  }
  if (holds_guarantees(cluster)) {
    most = most.min(cluster.free_agents.sum(l.role->name) - held_for_others(cluster, l));
  }
  return most.max(ResourceVector());
}

bool holds_guarantees(const Cluster& cluster) {
  return cluster.options.reclaim == ReclaimMode::kOff && cluster.promises_any();
}

ResourceVector held_for_others(const View& view, const Leaf& l) {
  ResourceVector held;
  for (const Node* node = &l; node->parent != nullptr; node = node->parent) {
    for (const Role* sibling : node->parent->promised) {
      if (sibling != node) held += unmet_guarantee(view, *sibling);
    }
  }
  return held;
}

ResourceVector unmet_guarantee(const View& view, const Role& role) {
  ResourceVector below;
  for (const Role* child : role.promised) below += unmet_guarantee(view, *child);
  const ResourceVector use = view.use(role);
  return (view.settings(role).guarantee.amounts(use) - use).max(below);
}

Denial exceeded_limit(const AskEntry& entry) {
  for (const Role* role = entry.leaf->role; role->parent != nullptr; role = role->parent) {
    for (const ResourceKind kind : kResourceKinds) {
      const std::optional<int64_t> limit = role->settings.limit[kind];
      if (limit && entry.at_once()[kind] > *limit) return {Denial::Why::kLimit, role, kind, *limit};
    }
  }
  return {};
}

namespace {

// Whether the guarantee covers one more task of the ask. For the kinds that it does not name, use
// beyond the role's fair share must be free where the task will run.
bool is_guaranteed(const Cluster& cluster, const Role& role, const AskEntry& ask) {
  const ResourceVector& more = ask.ask.shape;
  if (!names_within_guarantee(role, role.use(), more)) return false;
  const ResourceVector beyond = beyond_guarantee(role, role.use(), more);
  if (beyond.is_zero()) return true;
  return std::any_of(cluster.agents.begin(), cluster.agents.end(), [&](const auto& a) {
    if (!a.second->serves() || !could_ever_fit(ask, *a.second)) return false;
    const ResourceVector free = a.second->counted_free().amounts;
    return std::all_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
      return beyond[kind] == 0 || free[kind] >= more[kind];
    });
  });
}

}  // namespace

bool is_guarantee_met(const Cluster& cluster, const Role& role) {
  if (!role.has_guarantee()) return true;
  bool is_met = true;
  for_each_leaf(role, [&](const Leaf& l) {
    if (!is_met || !l.wants_offers()) return;
    if (l.mode == OfferMode::kOpen) {
      is_met = l.refuses || !has_unmet_guarantee(role);
      return;
    }
    is_met = std::none_of(l.order.begin(), l.order.end(), [&](const AskEntry* ask) {
      return ask->unmet() > 0 && is_guaranteed(cluster, role, *ask) &&
             denial(cluster, *ask).why != Denial::Why::kEntitlement;
    });
  });
  return is_met;
}

}  // namespace proffer::fair
