// Pictures of the allocator for people and metrics. Computed from the books, not from the shares of
// the last decision, so they are right between decisions too.

#include <algorithm>

#include "allocator/state.h"

namespace proffer {
namespace {

std::vector<const fair::AskEntry*> by_name(const std::vector<fair::AskEntry*>& asks) {
  std::vector<const fair::AskEntry*> sorted(asks.begin(), asks.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return a->ask.name < b->ask.name; });
  return sorted;
}

}  // namespace

ResourceVector Allocator::State::total() const { return shares_dirty_ ? compute_total() : total_; }

std::vector<RoleStatus> Allocator::State::roles() const {
  know_shares();
  know_entitlements();
  const ResourceVector total = compute_total();
  std::vector<RoleStatus> all;
  for (const auto& [name, r] : tree_.roles()) {
    all.push_back({.role = name,
                   .settings = r->settings,
                   .allocated = r->allocated,
                   .offered = r->offered,
                   .dominant_share = dominant_share(r->use(), total),
                   .place_share = r->share().millionths(),
                   .entitlement = r->entitlement,
                   .borrowed = fair::borrowed(*r),
                   .guarantee_met = is_guarantee_met(*r)});
  }
  return all;
}

// Whether it has what it is promised, or no ask that would still be within that and may be given
// as far as its own entitlement goes.
bool Allocator::State::is_guarantee_met(const Role& role) const {
  if (!role.has_guarantee()) return true;
  bool is_met = true;
  fair::for_each_leaf(role, [&](const Leaf& l) {
    if (!is_met || !l.wants_offers()) return;
    if (l.mode == OfferMode::kOpen) {
      is_met = !fair::has_unmet_guarantee(role);
      return;
    }
    is_met = std::none_of(l.order.begin(), l.order.end(), [&](const AskEntry* ask) {
      return ask->unmet() > 0 && fair::is_within_guarantee(role, ask->ask.shape) &&
             barred(*ask).why != Bar::Why::kEntitlement;
    });
  });
  return is_met;
}

std::vector<LeafStatus> Allocator::State::leaves() const {
  const ResourceVector total = compute_total();
  std::vector<LeafStatus> all;
  for (const auto& [id, l] : leaves_) {
    LeafStatus status{.framework = id.framework,
                      .role = id.role,
                      .allocated = l->allocated,
                      .offered = l->offered,
                      .dominant_share = dominant_share(l->use(), total),
                      .weighted_share = dominant_share(l->use(), total),
                      .suppressed = l->owner->suppressed};
    add_statuses(*l, status.asks);
    all.push_back(std::move(status));
  }
  return all;
}

std::vector<AskStatus> Allocator::State::asks(const FrameworkId& id) const {
  std::vector<AskStatus> all;
  const auto at = frameworks_.find(id);
  if (at == frameworks_.end()) return all;
  for (const auto& [role, l] : at->second->leaves) add_statuses(*l, all);
  return all;
}

void Allocator::State::add_statuses(const Leaf& l, std::vector<AskStatus>& statuses) const {
  for (const AskEntry* ask : by_name(l.order)) {
    AskStatus status{.ask = ask->ask.name, .wanted = ask->ask.count, .offered = ask->offered};
    status.could_ever_fit = exceeded_limit(*ask).is_none() && could_ever_be_met(*ask, false);
    if (!ask->claim.empty()) status.claimed = ask->claim.front().agent->id;
    if (!ask->reclaims.empty()) status.claimed = (*ask->reclaims.begin())->id;
    for (const fair::Claimed& claimed : ask->claim) status.set_aside.push_back(claimed.agent->id);
    for (const Agent* a : ask->reclaims) status.set_aside.push_back(a->id);
    status.has_headroom = !ask->headroom.empty();
    statuses.push_back(std::move(status));
  }
}

// The limit, of its role or one above, that a single task or gang of it is more than.
Allocator::State::Bar Allocator::State::exceeded_limit(const AskEntry& entry) const {
  for (const Role* role = entry.leaf->role; role->parent != nullptr; role = role->parent) {
    for (const ResourceKind kind : kResourceKinds) {
      const std::optional<int64_t> limit = role->settings.limit[kind];
      if (limit && entry.at_once()[kind] > *limit) return {Bar::Why::kLimit, role, kind, *limit};
    }
  }
  return {};
}

std::vector<AgentUse> Allocator::State::agents() const {
  std::vector<AgentUse> all;
  for (const auto& [id, a] : agents_) {
    all.push_back({.agent = id,
                   .total = a->counted_total(),
                   .allocated = a->counted_allocated(),
                   .offered = a->counted_offered(),
                   .free = a->counted_free(),
                   .active = a->active});
  }
  return all;
}

std::vector<EndingTask> Allocator::State::ending() const {
  std::vector<EndingTask> all;
  for (const auto& [id, a] : agents_) {
    for (const auto& [ref, task] : a->tasks) {
      if (task.ends_by) all.push_back({id, ref.framework, ref.task, *task.ends_by});
    }
  }
  return all;
}

}  // namespace proffer
