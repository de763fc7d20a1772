#pragma once

// Counts the tasks that leaves get while resources are plentiful: progressive filling (Algorithm 1
// of the DRF paper) by counts, without a look at agents. Round::fill_many() then places the tasks
// of each leaf together.
//
// It stops while each leaf could still have agents of its own, so that all tasks fit under any
// placement: a placement that begins an agent only when a task fits on no other one begins at most
// as many agents as are counted here.

#include <cstdint>
#include <functional>
#include <vector>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

// Tasks of one ask that are given together.
struct Batch {
  AskEntry* ask = nullptr;
  int64_t count = 0;
  Rank before = {};  // rank of its leaf before the last of the tasks
};

class WaterFilling {
 public:
  // The ask of a leaf to serve, and its maximum number of tasks; without an ask, the leaf is not
  // served here.
  struct Wish {
    AskEntry* ask = nullptr;
    int64_t most = 0;
  };
  using WishOf = std::function<Wish(Leaf&)>;

  // O(leaves in the order).
  WaterFilling(const Cluster& cluster, const LeafOrder& order, const WishOf& wish_of);

  // Whether at least one turn is possible.
  bool may_begin() const;
  // The maximum of each kind over the shapes of the wishes.
  const ResourceVector& largest_shape() const { return largest_shape_; }
  // Gives turns until the next leaf is one that is not served here, no leaf is left, or the
  // `agents` agents with `free` each are used up. Batches are in the order of their last tasks.
  // O(tasks * log leaves).
  std::vector<Batch> fill(int64_t agents, const ResourceVector& free);

 private:
  // The state of a node during the filling.
  struct Side {
    ResourceVector use = {};
    size_t parent = 0;
    std::vector<size_t> children = {};  // a heap, the first to be served on top
    Wish wish = {};                     // of a leaf
    int64_t each = 0;                   // the number of its tasks that fit on one agent
    int64_t given = 0;
    Rank before = {};  // only for violations()
  };

  // The key for comparison with siblings.
  struct Key {
    Share share = {};
    uint64_t served = 0;
    const Node* node = nullptr;
  };

  size_t add(const Node& node, size_t parent, const LeafOrder& order, const WishOf& wish_of);
  bool comes_before(size_t a, size_t b) const;
  void sink_top(std::vector<size_t>& heap) const;
  void remove_top(size_t side);
  size_t first_leaf() const;
  Rank rank_of(size_t leaf) const;
  void give(size_t leaf);

  const Cluster& cluster_;
  std::vector<Side> sides_;  // the root comes first
  // one for each side; a separate array for the cache, since comparisons take most of the time
  std::vector<Key> keys_;
  ResourceVector largest_shape_;
  uint64_t served_ = 0;
};

}  // namespace proffer::fair
