// Turns. Begin with next().

#include "allocator/round/turns.h"

#include <algorithm>

#include "allocator/rules/flexibility.h"

namespace proffer::fair {

const Role* Turn::exceeded(const ResourceVector& more) const {
  const auto at = std::find_if(within.begin(), within.end(), [&](const Role* r) {
    return !is_within_guarantee(*r, r->use(), more);
  });
  return at == within.end() ? nullptr : *at;
}

Turn Turns::next(const LeafOrder& order) {
  Turn turn;
  turn.leaf = next_below(cluster_.tree.root(), order, false, turn.within);
  return turn;
}

// The leaf below `role` whose turn it is; nullptr if all are known to be beyond the guarantees of
// the roles `within`, which grow on the way down. O(depth), and one look for each skipped leaf that
// is beyond guarantees and each role with only such leaves.
Leaf* Turns::next_below(const Role& role, const LeafOrder& order, bool promised_only,
                        std::vector<Role*>& within) {
  // A role whose least filled guarantee is exhausted takes its turn by the next guarantee.
  std::set<PromiseTurn> later;
  const std::set<PromiseTurn>& turns = role.promise_turns[order.number()];
  for (auto at = turns.begin(); at != turns.end() || !later.empty();) {
    PromiseTurn turn;
    if (later.empty() || (at != turns.end() && *at < *later.begin())) {
      turn = *at++;
      const std::optional<PromiseTurn> now = exhausted_.empty() ? turn : left_of(turn, order);
      if (!now) continue;
      if (turn < *now) {
        later.insert(*now);
        continue;
      }
    } else {
      turn = later.extract(later.begin()).value();
    }
    Role* const child = turn.role;
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

// The turn without exhausted roles; empty if all are exhausted.
std::optional<PromiseTurn> Turns::left_of(const PromiseTurn& turn, const LeafOrder& order) const {
  if (turn.role->has_guarantee()) {
    return exhausted_.count(turn.role) > 0 ? std::nullopt : std::optional(turn);
  }
  std::optional<PromiseTurn> least;
  for (const PromiseTurn& below : turn.role->promise_turns[order.number()]) {
    if (least && !(below.filled < least->filled)) break;
    const std::optional<PromiseTurn> left = left_of(below, order);
    if (left && (!least || left->filled < least->filled)) least = left;
  }
  if (!least) return std::nullopt;
  return PromiseTurn{least->filled, turn.served, turn.role};
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
