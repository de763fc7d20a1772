// Counts tasks by progressive filling. Begin with fill().

#include "allocator/round/water_filling.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace proffer::fair {
namespace {

constexpr size_t kRoot = 0;

}  // namespace

WaterFilling::WaterFilling(const Cluster& cluster, const LeafOrder& order, const WishOf& wish_of)
    : cluster_(cluster) {
  add(cluster.tree.root(), kRoot, order, wish_of);
  for (const Key& key : keys_) served_ = std::max(served_, key.served);
}

// The first sibling is the same as in the order, which is sorted and so a heap.
size_t WaterFilling::add(const Node& node, size_t parent, const LeafOrder& order,
                         const WishOf& wish_of) {
  const size_t number = sides_.size();
  sides_.push_back({.use = node.use(), .parent = parent});
  keys_.push_back({node.share, node.served, &node});
  if (node.is_leaf) {
    Leaf& leaf = const_cast<Leaf&>(static_cast<const Leaf&>(node));
    Wish wish = wish_of(leaf);
    if (wish.ask != nullptr) largest_shape_ = largest_shape_.max(wish.ask->ask.shape);
    sides_[number].wish = wish;
    return number;
  }
  const NodeSet& nodes = order.nodes(static_cast<const Role&>(node));
  std::vector<size_t> children;
  children.reserve(nodes.size());
  for (const Node* child : nodes) children.push_back(add(*child, number, order, wish_of));
  sides_[number].children = std::move(children);
  return number;
}

// Like NodeByShare.
bool WaterFilling::comes_before(size_t a, size_t b) const {
  const Key& first = keys_[a];
  const Key& second = keys_[b];
  const auto by_share = first.share <=> second.share;
  if (by_share != 0) return by_share < 0;
  if (first.served != second.served) return first.served < second.served;
  const int by_label = first.node->label->compare(*second.node->label);
  return by_label != 0 ? by_label < 0 : !first.node->is_leaf && second.node->is_leaf;
}

// The element nearly always sinks almost to the bottom: so it goes to the bottom first and then up
// to its place.
void WaterFilling::sink_top(std::vector<size_t>& heap) const {
  const size_t sinking = heap.front();
  size_t at = 0;
  for (size_t below = 1; below < heap.size(); below = 2 * at + 1) {
    if (below + 1 < heap.size() && comes_before(heap[below + 1], heap[below])) ++below;
    heap[at] = heap[below];
    at = below;
  }
  for (size_t above; at > 0; at = above) {
    above = (at - 1) / 2;
    if (!comes_before(sinking, heap[above])) break;
    heap[at] = heap[above];
  }
  heap[at] = sinking;
}

// The leaf wants no more here, nor does a role above it without another leaf.
void WaterFilling::remove_top(size_t side) {
  while (side != kRoot) {
    const size_t parent = sides_[side].parent;
    std::vector<size_t>& siblings = sides_[parent].children;
    siblings.front() = siblings.back();
    siblings.pop_back();
    if (!siblings.empty()) return sink_top(siblings);
    side = parent;
  }
}

size_t WaterFilling::first_leaf() const {
  size_t at = kRoot;
  while (!sides_[at].children.empty()) at = sides_[at].children.front();
  return at;
}

bool WaterFilling::may_begin() const { return sides_[first_leaf()].wish.ask != nullptr; }

Rank WaterFilling::rank_of(size_t leaf) const {
  size_t depth = 0;
  for (size_t at = leaf; at != kRoot; at = sides_[at].parent) ++depth;
  Rank rank(depth);
  for (size_t at = leaf; at != kRoot; at = sides_[at].parent) rank[--depth] = keys_[at].share;
  return rank;
}

void WaterFilling::give(size_t leaf) {
  Side& to = sides_[leaf];
  if (cluster_.options.is_audited) to.before = rank_of(leaf);
  ++to.given;
  ++served_;
  const ResourceVector& more = to.wish.ask->ask.shape;
  for (size_t at = leaf; at != kRoot; at = sides_[at].parent) {
    Side& side = sides_[at];
    side.use += more;
    keys_[at].served = served_;
    keys_[at].share = dominant_share(side.use, cluster_.total, keys_[at].node->weight);
    sink_top(sides_[side.parent].children);
  }
}

std::vector<Batch> WaterFilling::fill(int64_t agents, const ResourceVector& free) {
  const Resources whole{.amounts = free};
  for (Side& side : sides_) {
    if (side.wish.ask == nullptr) continue;
    side.each =
        count_that_fits(side.wish.ask->ask.shape, whole, std::numeric_limits<int32_t>::max());
  }
  while (true) {
    const size_t leaf = first_leaf();
    Side& side = sides_[leaf];
    if (side.wish.ask == nullptr || side.each == 0) break;  // Also if no leaf is left: the root.
    if (side.given == side.wish.most) {
      remove_top(leaf);
      continue;
    }
    const bool begins_agent = side.given % side.each == 0;
    if (begins_agent && agents == 0) break;
    if (begins_agent) --agents;
    give(leaf);
  }
  std::vector<size_t> given;
  for (size_t i = 0; i < sides_.size(); ++i) {
    if (sides_[i].given > 0) given.push_back(i);
  }
  std::sort(given.begin(), given.end(),
            [&](size_t a, size_t b) { return keys_[a].served < keys_[b].served; });
  std::vector<Batch> batches;
  batches.reserve(given.size());
  for (const size_t i : given) {
    batches.push_back({sides_[i].wish.ask, sides_[i].given, sides_[i].before});
  }
  return batches;
}

}  // namespace proffer::fair
