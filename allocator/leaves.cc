#include "allocator/leaves.h"

#include <algorithm>
#include <tuple>

namespace proffer::fair {

bool AskEntry::matches(const Agent& agent) const {
  if (ask.constraints.empty()) return true;
  Matched& known = matched_[&agent];
  if (known.attributes_version != agent.attributes_version) {
    known = {agent.attributes_version, matcher.matches(agent.id, agent.attributes)};
  }
  return known.matches;
}

bool Leaf::wants_offers() const {
  if (!active || suppressed) return false;
  return mode == OfferMode::kOpen ||
         std::any_of(order.begin(), order.end(), [](const AskEntry* a) { return a->unmet() > 0; });
}

void Leaf::sort_asks() {
  std::sort(order.begin(), order.end(), [](const AskEntry* a, const AskEntry* b) {
    return std::tuple(-int64_t{a->ask.priority}, a->granted_at, a->place) <
           std::tuple(-int64_t{b->ask.priority}, b->granted_at, b->place);
  });
}

void Leaf::move_behind_peers(const AskEntry& ask) {
  if (order.size() < 2) return;
  const auto at = std::find(order.begin(), order.end(), &ask);
  const auto end = std::find_if(at, order.end(), [&](const AskEntry* other) {
    return other->ask.priority != ask.ask.priority;
  });
  std::rotate(at, at + 1, end);
}

void LeafOrder::insert(Leaf& leaf) {
  if (leaf.in_order[number_]) return;
  auto& leaves = leaf.role->leaves_in_order[number_];
  if (leaves.empty()) roles_.insert(leaf.role);
  leaves.insert(&leaf);
  leaf.in_order[number_] = true;
  if (leaf.mode == OfferMode::kAsks) ++asking_;
}

void LeafOrder::erase(Leaf& leaf) {
  if (!leaf.in_order[number_]) return;
  auto& leaves = leaf.role->leaves_in_order[number_];
  CHECK_EQ(leaves.erase(&leaf), 1u) << leaf.framework.str();
  if (leaves.empty()) CHECK_EQ(roles_.erase(leaf.role), 1u) << leaf.role->name.str();
  leaf.in_order[number_] = false;
  if (leaf.mode == OfferMode::kAsks) --asking_;
}

Leaf* LeafOrder::first() const {
  if (roles_.empty()) return nullptr;
  return *(*roles_.begin())->leaves_in_order[number_].begin();
}

const Leaf* LeafOrder::second_leaf() const {
  const auto& leaves = (*roles_.begin())->leaves_in_order[number_];
  const auto second = std::next(leaves.begin());
  return second == leaves.end() ? nullptr : *second;
}

const Role* LeafOrder::second_role() const {
  const auto second = std::next(roles_.begin());
  return second == roles_.end() ? nullptr : *second;
}

void LeafOrder::before_change(Leaf& leaf) {
  auto& leaves = leaf.role->leaves_in_order[number_];
  if (leaves.empty()) return;
  CHECK_EQ(roles_.erase(leaf.role), 1u) << leaf.role->name.str();
  if (leaf.in_order[number_]) CHECK_EQ(leaves.erase(&leaf), 1u) << leaf.framework.str();
}

void LeafOrder::after_change(Leaf& leaf) {
  auto& leaves = leaf.role->leaves_in_order[number_];
  if (leaf.in_order[number_]) leaves.insert(&leaf);
  if (!leaves.empty()) roles_.insert(leaf.role);
}

void LeafOrder::clear() {
  for (Role* role : roles_) {
    for (Leaf* leaf : role->leaves_in_order[number_]) leaf->in_order[number_] = false;
    role->leaves_in_order[number_].clear();
  }
  roles_.clear();
  asking_ = 0;
}

}  // namespace proffer::fair
