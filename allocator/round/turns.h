#pragma once

// Selects the leaf whose turn it is. At each level of the tree, from the top: a child with an unmet
// guarantee, the least filled first; without one, the child with the least share. Begin with
// next().
//
// A guarantee gives a turn only to a leaf that can use it: a leaf with an ask that would still be
// within the guarantee. A leaf without one is marked, and gets its turn by share.

#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

// The selected leaf, and the roles whose unmet guarantees selected it, outermost first.
struct Turn {
  Leaf* leaf = nullptr;
  std::vector<Role*> within = {};
  // The first role of `within` whose guarantee would not cover `more`.
  const Role* exceeded(const ResourceVector& more) const;
};

class Turns {
 public:
  explicit Turns(const Cluster& cluster) : cluster_(cluster) {}

  Turn next(const LeafOrder& order);
  // Marks that the role's guarantee covers none of the leaf's asks that could be granted now.
  void set_beyond(const Leaf& leaf, const Role& role);
  bool is_beyond(const Leaf& leaf, const std::vector<Role*>& within) const {
    return !within.empty() && !beyond_.empty() && is_beyond_any(leaf, within);
  }
  // Call when more is free: a leaf that could not use a guarantee may be able to now.
  void forget_beyond();

 private:
  bool is_beyond_any(const Leaf& leaf, const std::vector<Role*>& within) const;
  Leaf* next_below(const Role& role, const LeafOrder& order, bool promised_only,
                   std::vector<Role*>& within);
  std::optional<PromiseTurn> left_of(const PromiseTurn& turn, const LeafOrder& order) const;

  const Cluster& cluster_;
  std::unordered_map<const Leaf*, std::vector<const Role*>> beyond_;  // looked up only
  std::set<const Role*>
      exhausted_;  // roles whose leaves cannot use the guarantee further; likewise
};

}  // namespace proffer::fair
