#pragma once

// Whose turn it is. At each level of the tree, from the top: a child with a guarantee that it has
// not reached, the least filled first, else the child with the least share. next() first.
//
// A guarantee gives a turn only to a leaf that can use it: one with an ask that would still be
// within it. A leaf that turns out to have none is marked, and comes by its share.

#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

// Whose turn it is, and the roles because of whose unmet guarantees, the one at the top first.
struct Turn {
  Leaf* leaf = nullptr;
  std::vector<Role*> within = {};
  // The first of these roles whose guarantee would not cover `more`.
  const Role* exceeded(const ResourceVector& more) const;
};

class Turns {
 public:
  explicit Turns(const Cluster& cluster) : cluster_(cluster) {}

  Turn next(const LeafOrder& order);
  // The role's guarantee covers none of the asks of the leaf that could be given now.
  void set_beyond(const Leaf& leaf, const Role& role);
  bool is_beyond(const Leaf& leaf, const std::vector<Role*>& within) const {
    return !within.empty() && !beyond_.empty() && is_beyond_any(leaf, within);
  }
  // More is free: a leaf that could not use a guarantee may be able to now.
  void forget_beyond();

 private:
  bool is_beyond_any(const Leaf& leaf, const std::vector<Role*>& within) const;
  Leaf* next_below(const Role& role, const LeafOrder& order, bool promised_only,
                   std::vector<Role*>& within);
  std::optional<PromiseTurn> left_of(const PromiseTurn& turn, const LeafOrder& order) const;

  const Cluster& cluster_;
  std::unordered_map<const Leaf*, std::vector<const Role*>> beyond_;  // looked up only
  std::set<const Role*> exhausted_;  // no leaf of it can use its guarantee any further; likewise
};

}  // namespace proffer::fair
