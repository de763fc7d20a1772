// Goes from event to event: a leaf has all its tasks, a kind is exhausted, or another kind becomes
// the largest in some node. Between two events everything grows linearly; grow() computes the
// speeds.

#include "tests/oracle/tree_filling.h"

#include <algorithm>

#include "common/check.h"
#include "tests/oracle/filling.h"

namespace proffer::ideal {
namespace {

using Parts = std::array<Fraction, kResourceKindCount>;  // fractions of the pool

class Filling {
 public:
  Filling(const ResourceVector& pool, const Node& root) : pool_(pool), tree_(pool, root) {
    tasks_.resize(tree_.size());
    used_.resize(tree_.size());
    active_.resize(tree_.size(), false);
    for (const size_t leaf : tree_.leaves()) active_[leaf] = can_run(pool_, demand_of(leaf));
    mark_parents();
  }

  std::optional<std::vector<Fraction>> fill() {
    while (active_[0]) {
      rates_.assign(tree_.size(), Fraction());
      growth_.assign(tree_.size(), Parts());
      if (!grow(0).has_value()) return std::nullopt;
      const std::optional<Fraction> step = until_next_event();
      if (!step) return std::nullopt;
      advance(*step);
      stop_leaves();
    }
    std::vector<Fraction> tasks;
    for (const size_t leaf : tree_.leaves()) {
      if (!tasks_[leaf].is_exact()) return std::nullopt;
      tasks.push_back(tasks_[leaf]);
    }
    return tasks;
  }

 private:
  Demand demand_of(size_t leaf) const {
    const Node& node = tree_.description(leaf);
    return {.task = node.task, .count = node.count};
  }
  Fraction part(int64_t amount, size_t k) const {
    const int64_t all = pool_[kResourceKinds[k]];
    return all == 0 ? Fraction(0) : Fraction::of(amount, all);
  }
  static Fraction largest(const Parts& parts) {
    return *std::max_element(parts.begin(), parts.end());
  }
  static bool is_exact(const Parts& parts) {
    return std::all_of(parts.begin(), parts.end(), [](const Fraction& p) { return p.is_exact(); });
  }
  Fraction weight(size_t node) const {
    return Fraction::of(tree_.description(node).weight, kWeightOne);
  }
  // Weighted; CHECKs that it is exact.
  Fraction share(size_t node) const { return largest(used_[node]) / weight(node); }

  void mark_parents() {
    for (size_t i = tree_.size(); i-- > 0;) {
      if (tree_.children(i).empty()) continue;
      const auto& children = tree_.children(i);
      active_[i] = std::any_of(children.begin(), children.end(),
                               [&](size_t child) { return active_[child]; });
    }
  }

  // Sets rates_ (of tasks) and growth_ (of use) below the active node, so that its weighted share
  // grows by one per unit of time. False: its share does not grow, whatever it gets; the unit is
  // then one of its children's. Empty: no answer.
  std::optional<bool> grow(size_t node) {
    if (tree_.children(node).empty()) {
      const Demand demand = demand_of(node);
      rates_[node] = weight(node) / share_of_task(pool_, demand);
      for (size_t k = 0; k < kResourceKindCount; ++k) {
        growth_[node][k] = rates_[node] * part(demand.task[kResourceKinds[k]], k);
      }
      return true;
    }
    std::vector<size_t> growing;
    std::vector<size_t> stalled;
    for (const size_t child : tree_.children(node)) {
      if (!active_[child]) continue;
      const std::optional<bool> grows = grow(child);
      if (!grows) return std::nullopt;
      (*grows ? growing : stalled).push_back(child);
    }
    if (stalled.size() > 1) return std::nullopt;
    if (!growing.empty() && !stalled.empty()) {
      CHECK(share(growing[0]) == share(stalled[0])) << "demanding siblings have equal shares";
    }
    if (!stalled.empty()) {
      // Its share stays the least, or equal to others, so it takes all.
      for (const size_t child : growing) scale(child, 0);
      growing = stalled;
    }
    for (const size_t child : growing) {
      for (size_t k = 0; k < kResourceKindCount; ++k) growth_[node][k] += growth_[child][k];
    }
    if (!is_exact(growth_[node]) || !is_exact(used_[node])) return std::nullopt;
    const Fraction pace = pace_of(node);
    if (pace.is_zero()) return false;
    scale(node, weight(node) / pace);
    return true;
  }

  // The growth of the node's largest fraction.
  Fraction pace_of(size_t node) const {
    const Fraction top = largest(used_[node]);
    Fraction pace;
    for (size_t k = 0; k < kResourceKindCount; ++k) {
      if (used_[node][k] == top) pace = std::max(pace, growth_[node][k]);
    }
    return pace;
  }

  void scale(size_t node, const Fraction& by) {
    rates_[node] = rates_[node] * by;
    for (Fraction& each : growth_[node]) each = each * by;
    for (const size_t child : tree_.children(node)) {
      if (active_[child]) scale(child, by);
    }
  }

  std::optional<Fraction> until_next_event() const {
    std::optional<Fraction> next;
    bool exact = true;
    const auto consider = [&](const Fraction& at) {
      exact = exact && at.is_exact();
      if (exact && (!next || at < *next)) next = at;
    };
    for (size_t i = 0; i < tree_.size(); ++i) {
      if (!active_[i]) continue;
      if (!is_exact(growth_[i]) || !is_exact(used_[i]) || !rates_[i].is_exact()) {
        return std::nullopt;
      }
      if (tree_.children(i).empty()) {
        const std::optional<int64_t> count = tree_.description(i).count;
        if (count && !rates_[i].is_zero()) consider((Fraction(*count) - tasks_[i]) / rates_[i]);
        continue;
      }
      const Fraction top = largest(used_[i]);
      const Fraction pace = pace_of(i);
      for (size_t k = 0; k < kResourceKindCount; ++k) {
        if (used_[i][k] == top || growth_[i][k] <= pace) continue;
        consider((top - used_[i][k]) / (growth_[i][k] - pace));
      }
    }
    for (size_t k = 0; k < kResourceKindCount; ++k) {
      if (!growth_[0][k].is_zero()) consider((Fraction(1) - used_[0][k]) / growth_[0][k]);
    }
    return exact ? next : std::nullopt;
  }

  void advance(const Fraction& step) {
    for (size_t i = 0; i < tree_.size(); ++i) {
      if (!active_[i]) continue;
      tasks_[i] += rates_[i] * step;
      for (size_t k = 0; k < kResourceKindCount; ++k) used_[i][k] += growth_[i][k] * step;
    }
  }

  void stop_leaves() {
    for (const size_t leaf : tree_.leaves()) {
      if (!active_[leaf] || !tasks_[leaf].is_exact()) continue;
      const Demand demand = demand_of(leaf);
      if (demand.count && tasks_[leaf] == *demand.count) active_[leaf] = false;
      for (size_t k = 0; k < kResourceKindCount; ++k) {
        if (!used_[0][k].is_exact()) continue;
        if (used_[0][k] == 1 && demand.task[kResourceKinds[k]] > 0) active_[leaf] = false;
      }
    }
    mark_parents();
  }

  const ResourceVector pool_;
  const Tree tree_;  // used for its structure only
  std::vector<Fraction> tasks_;
  std::vector<Parts> used_;
  std::vector<bool> active_;  // can still grow, or has a child that can
  std::vector<Fraction> rates_;
  std::vector<Parts> growth_;
};

}  // namespace

std::optional<std::vector<Fraction>> fill_tree(const ResourceVector& pool, const Node& root) {
  return Filling(pool, root).fill();
}

}  // namespace proffer::ideal
