// Turns: next() first.

#include "allocator/round/turns.h"

#include <algorithm>

#include "allocator/rules/flexibility.h"

namespace proffer::fair {

const Role* Turn::exceeded(const ResourceVector& more) const {
  const auto at = std::find_if(within.begin(), within.end(),
                               [&](const Role* r) { return !is_within_guarantee(*r, more); });
  return at == within.end() ? nullptr : *at;
}

Turn Turns::next(const LeafOrder& order) {
  Turn turn;
  turn.leaf = next_below(cluster_.tree.root(), order, false, turn.within);
  return turn;
}

// The leaf below `role` whose turn it is; nullptr if there is none that has not been found to be
// beyond the guarantees of the roles `within`, which grow on the way down. O(depth), and for each
// role with guarantees that has demand O(children with guarantees); passing over leaves that are
// beyond them costs one look each.
Leaf* Turns::next_below(const Role& role, const LeafOrder& order, bool promised_only,
                        std::vector<Role*>& within) {
  for (const auto& [filled, child] : promised_below(role, order)) {
    if (child->has_guarantee()) within.push_back(child);
    Leaf* const found = next_below(*child, order, !child->has_guarantee(), within);
    if (found != nullptr) return found;
    if (child->has_guarantee()) {
      within.pop_back();
      exhausted_.insert(child);
    }
  }
  if (promised_only) return nullptr;
  const auto turn_of = [&](Node* node) -> Leaf* {
    if (!node->is_leaf) return next_below(static_cast<Role&>(*node), order, false, within);
    Leaf& l = static_cast<Leaf&>(*node);
    return is_beyond(l, within) ? nullptr : &l;
  };
  if (Node* const least = least_flexible(cluster_, role, order)) {
    if (Leaf* const found = turn_of(least)) return found;
  }
  for (Node* node : order.nodes(role)) {
    if (Leaf* const found = turn_of(node)) return found;
  }
  return nullptr;
}

// The children with demand and a guarantee, or one below them, that is not reached and may still be
// of use, the least filled first, of equals the one that was served longest ago.
std::vector<std::pair<Share, Role*>> Turns::promised_below(const Role& role,
                                                           const LeafOrder& order) const {
  std::vector<std::pair<Share, Role*>> found;
  for (Role* child : role.promised) {
    if (order.nodes(*child).empty()) continue;
    if (child->has_guarantee()) {
      if (exhausted_.count(child) > 0) continue;
      if (!has_unmet_guarantee(*child)) continue;
      found.emplace_back(guarantee_filled(*child), child);
    } else if (const auto below = promised_below(*child, order); !below.empty()) {
      found.emplace_back(below.front().first, child);
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second->served < b.second->served;
  });
  return found;
}

void Turns::set_beyond(const Leaf& l, const Role& role) { beyond_[&l].push_back(&role); }

bool Turns::is_beyond_any(const Leaf& l, const std::vector<Role*>& within) const {
  const auto of_leaf = beyond_.find(&l);
  if (of_leaf == beyond_.end()) return false;
  const std::vector<const Role*>& beyond = of_leaf->second;
  return std::any_of(within.begin(), within.end(), [&](const Role* r) {
    return std::find(beyond.begin(), beyond.end(), r) != beyond.end();
  });
}

void Turns::forget_beyond() {
  beyond_.clear();
  exhausted_.clear();
}

}  // namespace proffer::fair
