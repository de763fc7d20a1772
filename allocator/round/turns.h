#pragma once

// Whose turn it is. At each level of the tree, from the top: a child with a guarantee that it has
// not reached, the least filled first, else the child with the least share. next() first.
//
// A guarantee gives a turn only to who can use it: a leaf with an ask that would still be within
// it. Whoever turns out to have none is marked and asked by its share.

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
  // More is free: who had no use for a guarantee may have one.
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
