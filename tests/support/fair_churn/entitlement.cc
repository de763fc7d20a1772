// The fair allocation of one pool of divisible tasks. Read fill() first.

#include <algorithm>
#include <limits>

#include "tests/support/fair_churn/fair_churn.h"

namespace proffer::fair_churn {
namespace {

constexpr double kTolerance = 1e-9;

class Filling {
 public:
  Filling(const Node& root, const Amounts& pool, int64_t parts)
      : pool_(pool), free_(pool), parts_(parts) {
    root_ = add(root);
  }

  std::vector<Amounts> fill() {
    while (note_demand(root_)) {
      rescale(root_);
      size_t at = root_;
      while (!nodes_[at].children.empty()) at = poorest_child(at);
      give(at);
    }
    std::vector<Amounts> all;
    for (const State& state : nodes_) {
      if (state.children.empty()) all.push_back(state.use);
    }
    return all;
  }

 private:
  struct State {
    double weight = 1;
    size_t parent = 0;
    std::vector<size_t> children = {};
    std::vector<Amounts> asks = {};
    size_t turn = 0;
    Amounts use = {};
    Amounts counted = {};  // the use in the parent's account
    size_t served = 0;     // number of its last grant
    bool demanding = false;
  };

  // Parents before their children, siblings in their order.
  size_t add(const Node& node) {
    const size_t at = nodes_.size();
    nodes_.emplace_back().weight = static_cast<double>(node.weight);
    for (const LeafAsk& ask : node.asks) {
      Amounts need;
      for (size_t k = 0; k < kKinds; ++k) {
        need[k] = static_cast<double>(ask.need[k]) / static_cast<double>(parts_);
      }
      nodes_[at].asks.push_back(need);
    }
    for (const Node& child : node.children) {
      const size_t added = add(child);
      nodes_[added].parent = at;
      nodes_[at].children.push_back(added);
    }
    return at;
  }

  bool fits(const Amounts& need) const {
    for (size_t k = 0; k < kKinds; ++k) {
      if (need[k] > free_[k] + kTolerance) return false;
    }
    return true;
  }
  double share(const Amounts& use, const State& state) const {
    double most = 0;
    for (size_t k = 0; k < kKinds; ++k) most = std::max(most, use[k] / pool_[k]);
    return most / state.weight;
  }

  // Whether some leaf below can have more. If so, `turn` of that leaf is its next ask.
  bool note_demand(size_t at) {
    State& state = nodes_[at];
    state.demanding = false;
    for (const size_t child : state.children) {
      if (note_demand(child)) state.demanding = true;
    }
    for (size_t i = 0; i < state.asks.size() && !state.demanding; ++i) {
      const size_t next = (state.turn + i) % state.asks.size();
      if (!fits(state.asks[next])) continue;
      state.turn = next;
      state.demanding = true;
    }
    return state.demanding;
  }

  // A child's use counts at most up to the least share of a child with demand (H-DRF).
  const Amounts& rescale(size_t at) {
    State& state = nodes_[at];
    if (state.children.empty()) return state.counted = state.use;
    double least = std::numeric_limits<double>::max();
    bool any_demands = false;
    for (const size_t child : state.children) {
      const double own = share(rescale(child), nodes_[child]);
      if (!nodes_[child].demanding) continue;
      any_demands = true;
      if (own > 0) least = std::min(least, own);
    }
    if (least == std::numeric_limits<double>::max()) least = 0;
    state.counted = {};
    for (const size_t child : state.children) {
      const State& of = nodes_[child];
      const double own = share(of.counted, of);
      double factor = 1;
      if (any_demands && own > 0) {
        factor = of.demanding ? least / own : std::min(1.0, least / own);
      }
      for (size_t k = 0; k < kKinds; ++k) state.counted[k] += factor * of.counted[k];
    }
    return state.counted;
  }

  size_t poorest_child(size_t at) const {
    std::pair<double, size_t> least = {std::numeric_limits<double>::max(), 0};
    size_t found = at;
    for (const size_t child : nodes_[at].children) {
      const State& of = nodes_[child];
      if (!of.demanding) continue;
      const std::pair<double, size_t> key = {share(of.counted, of), of.served};
      if (key >= least) continue;
      least = key;
      found = child;
    }
    return found;
  }

  void give(size_t leaf) {
    State& state = nodes_[leaf];
    const Amounts need = state.asks[state.turn];
    state.turn = (state.turn + 1) % state.asks.size();
    ++grants_;
    for (size_t at = leaf;; at = nodes_[at].parent) {
      nodes_[at].served = grants_;
      for (size_t k = 0; k < kKinds; ++k) nodes_[at].use[k] += need[k];
      if (at == root_) break;
    }
    for (size_t k = 0; k < kKinds; ++k) free_[k] -= need[k];
  }

  const Amounts pool_;
  Amounts free_;
  const int64_t parts_;
  size_t root_ = 0;
  std::vector<State> nodes_;
  size_t grants_ = 0;
};

}  // namespace

std::vector<Amounts> entitlements(const Node& root, const Amounts& pool, int64_t parts) {
  return Filling(root, pool, parts).fill();
}

}  // namespace proffer::fair_churn
