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
  const auto turn_of = [&](fair::Node* node) -> Leaf* {
    if (!node->is_leaf) return next_below(static_cast<Role&>(*node), order, false, within);
    Leaf& l = static_cast<Leaf&>(*node);
    return is_beyond(l, within) ? nullptr : &l;
  };
  if (fair::Node* const picky = least_flexible(role, order)) {
    if (Leaf* const found = turn_of(picky)) return found;
  }
  for (fair::Node* node : order.nodes(role)) {
    if (Leaf* const found = turn_of(node)) return found;
  }
  return nullptr;
}

// Of the children whose share is as little as the first one's, the one that the fewest agents could
// ever serve, or nullptr if the first is as good. O(1) while no ask is picky, else O(equals), of
// which so many are looked at.
fair::Node* Allocator::State::least_flexible(const Role& role, const fair::LeafOrder& order) const {
  constexpr int kEqualsMax = 64;
  const fair::NodeSet& nodes = order.nodes(role);
  if (!some_picky_ || nodes.size() < 2) return nullptr;
  fair::Node* const first = *nodes.begin();
  fair::Node* least = nullptr;
  int64_t agents = flexibility(*first, order);
  int looked = 0;
  for (auto node = std::next(nodes.begin()); node != nodes.end() && ++looked < kEqualsMax; ++node) {
    const int number = order.number();
    if ((*node)->standing[number].share != first->standing[number].share) break;
    const int64_t its = flexibility(**node, order);
    if (its >= agents) continue;
    least = *node;
    agents = its;
  }
  return least;
}

// How many agents could ever fit what it asks for first; of a role, that of whose turn it is in it.
int64_t Allocator::State::flexibility(const fair::Node& node, const fair::LeafOrder& order) const {
  const auto everywhere = static_cast<int64_t>(agents_.size());
  if (!node.is_leaf) {
    const fair::NodeSet& nodes = order.nodes(static_cast<const Role&>(node));
    return nodes.empty() ? everywhere : flexibility(**nodes.begin(), order);
  }
  int64_t least = everywhere;
  for (const AskEntry* ask : static_cast<const Leaf&>(node).order) {
    if (ask->unmet() == 0) continue;
    if (!ask->is_picky()) break;
    // As of when not many agents have changed: a look at all of them for each would be too much.
    if (ask->flexible_at == 0 || agents_version_ - ask->flexible_at > agents_.size() / 64) {
      ask->flexible_at = agents_version_;
      ask->flexibility = std::count_if(agents_.begin(), agents_.end(), [&](const auto& a) {
        return a.second->serves() && could_ever_fit(*ask, *a.second);
      });
    }
    least = ask->flexibility;
    break;
  }
  return least;
}

// The children with demand and a guarantee, or one below them, that is not reached and may still be
// of use, the least filled first, of equals the one that was served longest ago.
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
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second->served < b.second->served;
  });
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
