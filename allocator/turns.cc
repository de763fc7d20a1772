// Whose turn it is. At each level of the tree, from the top: a child with a guarantee that it has
// not reached, the least filled first, else the child with the least share. next_turn() first.
//
// A guarantee gives a turn only to who can use it: a leaf with an ask that would still be within
// it. Whoever turns out to have none is marked (Leaf::beyond) and asked by its share.

#include <algorithm>

#include "allocator/state.h"

namespace proffer {

Allocator::State::Turn Allocator::State::next_turn(const fair::LeafOrder& order) {
  Turn turn;
  turn.leaf = next_below(tree_.root(), order, false, turn.within);
  return turn;
}

// The leaf below `role` whose turn it is; nullptr if there is none that has not been found to be
// beyond the guarantees of the roles `within`, which grow on the way down. O(depth), and for each
// role with guarantees that has demand O(children with guarantees); passing over leaves that are
// beyond them costs one look each.
fair::Leaf* Allocator::State::next_below(const Role& role, const fair::LeafOrder& order,
                                         bool promised_only, std::vector<Role*>& within) {
  for (const auto& [filled, child] : promised_below(role, order)) {
    if (child->has_guarantee()) within.push_back(child);
    Leaf* const found = next_below(*child, order, !child->has_guarantee(), within);
    if (found != nullptr) return found;
    if (child->has_guarantee()) {
      within.pop_back();
      child->exhausted_in = turns_epoch_;
    }
  }
  if (promised_only) return nullptr;
  for (fair::Node* node : order.nodes(role)) {
    if (!node->is_leaf) {
      Leaf* const found = next_below(static_cast<Role&>(*node), order, false, within);
      if (found != nullptr) return found;
      continue;
    }
    Leaf& l = static_cast<Leaf&>(*node);
    if (!is_beyond(l, within)) return &l;
  }
  return nullptr;
}

// The children with demand and a guarantee, or one below them, that is not reached and may still be
// of use, the least filled first, of equals by name.
std::vector<std::pair<Share, fair::Role*>> Allocator::State::promised_below(
    const Role& role, const fair::LeafOrder& order) const {
  std::vector<std::pair<Share, Role*>> found;
  for (Role* child : role.promised) {
    if (order.nodes(*child).empty()) continue;
    if (child->has_guarantee()) {
      if (child->exhausted_in == turns_epoch_) continue;
      if (!fair::has_unmet_guarantee(*child)) continue;
      found.emplace_back(fair::guarantee_filled(*child), child);
    } else if (const auto below = promised_below(*child, order); !below.empty()) {
      found.emplace_back(below.front().first, child);
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return found;
}

// The first of the roles that gave the leaf its turn whose guarantee would not cover `more`.
const fair::Role* Allocator::State::exceeded(const Turn& turn, const ResourceVector& more) const {
  const auto at = std::find_if(turn.within.begin(), turn.within.end(),
                               [&](Role* r) { return !fair::is_within_guarantee(*r, more); });
  return at == turn.within.end() ? nullptr : *at;
}

void Allocator::State::set_beyond(Leaf& l, const Role& role) {
  if (l.beyond_in != turns_epoch_) l.beyond.clear();
  l.beyond_in = turns_epoch_;
  l.beyond.push_back(&role);
}

bool Allocator::State::is_beyond(const Leaf& l, const std::vector<Role*>& within) const {
  return l.beyond_in == turns_epoch_ && std::any_of(within.begin(), within.end(), [&](Role* r) {
           return std::find(l.beyond.begin(), l.beyond.end(), r) != l.beyond.end();
         });
}

}  // namespace proffer
