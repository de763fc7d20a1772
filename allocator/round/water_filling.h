#pragma once

// How many tasks leaves get while there is plenty for all of them: progressive filling (Algorithm 1
// of the DRF paper) by counts alone, without a look at any agent. Round::fill_many() then places
// the tasks of each leaf together.
//
// It ends while each leaf could still have agents of its own, so that all tasks fit however they
// are placed: a placement that begins an agent only when a task fits on no other one begins at most
// as many as are counted here.

#include <cstdint>
#include <functional>
#include <vector>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

// Tasks of one ask that are given together.
struct Batch {
  AskEntry* ask = nullptr;
  int64_t count = 0;
  Rank before = {};  // of its leaf, before the last of them
};

class WaterFilling {
 public:
  // What a leaf may be given in this way, and at most so many tasks; without an ask, the leaf is
  // for others to serve.
  struct Wish {
    AskEntry* ask = nullptr;
    int64_t most = 0;
  };
  using WishOf = std::function<Wish(Leaf&)>;

  // O(leaves in the order).
  WaterFilling(const Cluster& cluster, const LeafOrder& order, const WishOf& wish_of);

  // Whether a turn could be given now.
  bool may_begin() const;
  // The largest shape of a leaf that may be given something, kind by kind.
  const ResourceVector& largest_shape() const { return largest_shape_; }
  // Turns until a leaf is next that others are to serve, or nobody is, or there are no more of
  // so many agents that each have so much free. In the order of their last tasks.
  // O(tasks * log leaves).
  std::vector<Batch> fill(int64_t agents, const ResourceVector& free);

 private:
  // A node of the order as the filling goes.
  struct Side {
    ResourceVector use = {};
    size_t parent = 0;
    std::vector<size_t> children = {};  // a heap, the first to be served on top
    Wish wish = {};                     // of a leaf
    int64_t each = 0;                   // of its tasks that one agent has room for
    int64_t given = 0;
    Rank before = {};  // only for violations()
  };

  // By which it is compared with its siblings.
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
  std::vector<Key> keys_;    // of each; close together, since most of the time goes into comparing
  ResourceVector largest_shape_;
  uint64_t served_ = 0;
};

}  // namespace proffer::fair
