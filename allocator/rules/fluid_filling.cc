// A node is filled to a bound, its maximum unweighted share. For a role, a search finds the level
// of its children that the bound allows; for the root, the level at which a kind is exhausted.
// Begin with run(): fill the root, stop the asks that need an exhausted kind, continue with the
// rest.
//
// Between two adjacent levels a node may gain much: below stopped asks, others may rise far before
// the share of the role changes. Then the node gets the part that fits.

#include "allocator/rules/fluid_filling.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "allocator/cluster/role_tree.h"
#include "allocator/rules/levels.h"
#include "common/check.h"

namespace proffer::fair {
namespace {

__extension__ typedef __int128 Int128;

constexpr int64_t kPartOne = int64_t{1} << 30;

using Kinds = std::array<bool, kResourceKindCount>;

int64_t fraction_of(int64_t amount, int64_t numerator, int64_t denominator, bool up = false) {
  const Int128 product = Int128(amount) * numerator + (up ? denominator - 1 : 0);
  return static_cast<int64_t>(product / denominator);
}

template <class T>
int64_t count(const std::vector<T>& all) {
  return static_cast<int64_t>(all.size());
}

// All amounts are parts of the total, so that units make no difference.
class PartsOfTotal {
 public:
  explicit PartsOfTotal(const ResourceVector& total) : total_(total) {}

  ResourceVector whole() const { return of(total_); }
  // Rounded up; a shape that does not fit becomes more than the whole.
  ResourceVector of(const ResourceVector& amounts) const {
    ResourceVector parts = amounts;
    for (const ResourceKind kind : kResourceKinds) parts[kind] = of(kind, amounts[kind], true);
    return parts;
  }
  // Rounded down.
  Quota of(const Quota& quota) const {
    Quota parts;
    for (const ResourceKind kind : kResourceKinds) {
      if (quota[kind]) parts.set(kind, of(kind, *quota[kind], false));
    }
    return parts;
  }
  // Rounded down.
  ResourceVector amounts(const ResourceVector& parts) const {
    ResourceVector amounts;
    for (const ResourceKind kind : kResourceKinds) {
      amounts[kind] = fraction_of(parts[kind], total_[kind], kWhole);
    }
    return amounts;
  }

 private:
  static constexpr int64_t kWhole = int64_t{1} << 40;

  int64_t of(ResourceKind kind, int64_t amount, bool up) const {
    if (amount == 0 || total_[kind] <= 0) return amount;
    if (up && amount > total_[kind]) return kWhole + 1;
    // More than a thousand times the whole makes no difference.
    return fraction_of(std::min(amount, std::min(kAmountMax, total_[kind]) * 1'000), kWhole,
                       total_[kind], up);
  }

  const ResourceVector total_;
};

class Filling {
 public:
  Filling(const ResourceVector& total, const std::vector<FluidNode>& nodes)
      : total_(total), nodes_(nodes), states_(nodes.size()), uses_(nodes.size()) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (i > 0) {
        CHECK_GE(nodes[i].parent, 0);
        CHECK_LT(nodes[i].parent, static_cast<int32_t>(i));
        State& parent = states_[static_cast<size_t>(nodes[i].parent)];
        parent.children.push_back(i);
        const int64_t enough = 2 * kLevelOne * kWeightOne / nodes[i].weight;
        parent.top_level = std::min(std::max(parent.top_level, enough), kLevelMax);
      }
      guarantees_.push_back(nodes[i].guarantee);
      add_asks(i);
    }
    add_up_guarantees();
    tasks_.assign(asks_.size(), 0);
    for (size_t i = nodes.size(); i-- > 0;) note_rising(i);
  }

  FluidShares run() {
    cut_guarantees();
    while (states_[0].rises) {
      fill(0, kLevelMax, tasks_);
      settle(0);
      // Asks that a limit has stopped leave more for the others, so limits are handled first.
      bool stopped = false;
      for (size_t i = 1; i < nodes_.size(); ++i) stopped = stop(i, states_[i].used_up) || stopped;
      if (!stopped && !stop(0, states_[0].used_up)) break;
    }
    FluidShares shares;
    shares.nodes = std::move(uses_);
    for (const FluidNode& node : nodes_) shares.tasks.emplace_back(node.asks.size());
    for (size_t i = 0; i < asks_.size(); ++i)
      shares.tasks[asks_[i].node][asks_[i].place] = tasks_[i];
    return shares;
  }

 private:
  struct AskState {
    size_t node = 0;
    size_t place = 0;  // index in the node's list
    ResourceVector shape = {};
    int64_t most = 0;  // in units of kTaskOne
    bool stopped = false;
  };
  struct State {
    std::vector<size_t> children = {};
    // For a leaf: its asks in asks_, by priority, and the ends of the groups of one priority.
    size_t first_ask = 0;
    std::vector<size_t> group_ends = {};
    Quota guarantee = {};
    int64_t level = 0;       // of its children
    int64_t top_level = 0;   // the level at which each child may have twice the total
    int64_t next_level = 0;  // the level after settle()
    bool rises = true;       // some ask below may rise
    // The kinds that its limit, for the root the total, exhausted at the last filling.
    Kinds used_up = {};
  };
  using Tasks = std::vector<int64_t>;  // of each of asks_, in units of kTaskOne

  // The guarantee of a role for a kind that it does not name is the sum over its children.
  void add_up_guarantees() {
    for (size_t i = nodes_.size(); i-- > 1;) {
      Quota& above = guarantees_[static_cast<size_t>(nodes_[i].parent)];
      for (const ResourceKind kind : kResourceKinds) {
        const bool has_own =
            nodes_[static_cast<size_t>(nodes_[i].parent)].guarantee[kind].has_value();
        if (has_own || !guarantees_[i][kind]) continue;
        above.set(kind, above[kind].value_or(0) + *guarantees_[i][kind]);
      }
    }
    guarantees_[0] = {};
    for (size_t i = 0; i < nodes_.size(); ++i) {
      guarantees_[i] = whole_guarantee(guarantees_[i], total_);
      states_[i].guarantee = guarantees_[i];
    }
  }

  void add_asks(size_t node) {
    State& state = states_[node];
    state.first_ask = asks_.size();
    const std::vector<FluidAsk>& asks = nodes_[node].asks;
    for (size_t j = 0; j < asks.size(); ++j) {
      const int64_t most = std::clamp<int64_t>(asks[j].tasks_max, 0, kFluidTasksMax) * kTaskOne;
      asks_.push_back({.node = node,
                       .place = j,
                       .shape = asks[j].shape,
                       .most = std::min(most, asks[j].cap.value_or(most)),
                       .stopped = asks[j].shape.is_zero() || !asks[j].shape.fits_in(total_)});
    }
    const auto first = asks_.begin() + static_cast<std::ptrdiff_t>(state.first_ask);
    std::stable_sort(first, asks_.end(), [&](const AskState& a, const AskState& b) {
      return asks[a.place].priority > asks[b.place].priority;
    });
    for (size_t j = state.first_ask; j < asks_.size(); ++j) {
      const bool is_last = j + 1 == asks_.size();
      if (is_last || asks[asks_[j].place].priority != asks[asks_[j + 1].place].priority) {
        state.group_ends.push_back(j + 1);
      }
    }
  }

  bool rises(size_t ask, const Tasks& tasks) const {
    return !asks_[ask].stopped && tasks[ask] < asks_[ask].most;
  }

  ResourceVector most_at(int64_t bound) const {
    ResourceVector most;
    for (const ResourceKind kind : kResourceKinds) {
      most[kind] = fraction_of(total_[kind], bound, kLevelOne);
    }
    return most;
  }

  // --- a leaf -----------------------------------------------------------------------------------

  ResourceVector use_of_leaf(size_t leaf, const Tasks& tasks) const {
    ResourceVector use;
    const State& state = states_[leaf];
    for (size_t j = state.first_ask; j < end_of_asks(state); ++j) {
      for (const ResourceKind kind : kResourceKinds) {
        if (asks_[j].shape[kind] > 0)
          use[kind] += fraction_of(asks_[j].shape[kind], tasks[j], kTaskOne);
      }
    }
    return use;
  }

  static size_t end_of_asks(const State& state) {
    return state.group_ends.empty() ? state.first_ask : state.group_ends.back();
  }

  // All asks of a group rise by tasks, until the leaf has the maximum of a kind that one of them
  // needs.
  void raise(size_t leaf, int64_t bound, Tasks& tasks) const {
    const ResourceVector most = most_at(bound);
    size_t begin = states_[leaf].first_ask;
    for (const size_t end : states_[leaf].group_ends) {
      while (true) {
        ResourceVector together;
        int64_t step = std::numeric_limits<int64_t>::max();
        for (size_t j = begin; j < end; ++j) {
          if (!rises(j, tasks)) continue;
          together += asks_[j].shape;
          step = std::min(step, asks_[j].most - tasks[j]);
        }
        if (together.is_zero()) break;
        const ResourceVector use = use_of_leaf(leaf, tasks);
        bool is_bound = false;
        for (const ResourceKind kind : kResourceKinds) {
          if (together[kind] == 0) continue;
          const int64_t room = std::max<int64_t>(most[kind] - use[kind], 0);
          const Int128 steps = Int128(room) * kTaskOne / together[kind];
          if (steps >= step) continue;
          step = static_cast<int64_t>(steps);
          is_bound = true;
        }
        for (size_t j = begin; j < end; ++j) {
          if (rises(j, tasks)) tasks[j] += step;
        }
        if (is_bound) return;
      }
      begin = end;
    }
  }

  // --- a role -----------------------------------------------------------------------------------

  // The use of the children so far, or at a number of levels above the present one.
  static constexpr int64_t kSoFar = -1;

  int64_t bound_of_child(const State& role, int64_t levels, size_t child) const {
    const Int128 bound = Int128(role.level + levels) * nodes_[child].weight / kWeightOne;
    return static_cast<int64_t>(std::min<Int128>(bound, kLevelMax));
  }

  ResourceVector use_of_children(size_t role, int64_t levels) const {
    if (levels == kSoFar) return uses_[role];
    ResourceVector use;
    for (const size_t child : states_[role].children) {
      use += use_at(child, bound_of_child(states_[role], levels, child));
    }
    return use;
  }

  // The maximum of each kind that a role may use at the bound: by its share or guarantee, and by
  // its limit.
  ResourceVector most_of(size_t role, int64_t bound) const {
    ResourceVector most;
    if (role == 0) {
      for (const ResourceKind kind : kResourceKinds) most[kind] = less_rounding(total_[kind]);
      return most;
    }
    most = most_at(bound);
    for (const ResourceKind kind : kResourceKinds) {
      const auto guarantee = states_[role].guarantee[kind];
      if (guarantee) most[kind] = std::max(most[kind], *guarantee);
      const auto limit = nodes_[role].limit[kind];
      if (limit) most[kind] = std::min(most[kind], less_rounding(*limit));
    }
    return most;
  }

  // The levels of a role's children that the bound allows: `low`, plus a part of the gain from
  // there to `high`, the next position.
  struct Reach {
    int64_t low = kSoFar;
    int64_t high = kSoFar;
    int64_t part = 0;
    ResourceVector use = {};
    Kinds bound = {};  // exhausted kinds
  };

  // Use is a piecewise linear function of the level with few pieces: interpolation between the ends
  // of the interval mostly finds the result. If not, bisection ends the search.
  Reach reach(size_t role, int64_t bound) const {
    Reach found;
    found.use = uses_[role];
    found.high = std::max<int64_t>(states_[role].top_level - states_[role].level, 1);
    ResourceVector use_high = use_of_children(role, found.high);
    const ResourceVector most = most_of(role, bound).max(uses_[role]);
    if (use_high.fits_in(most)) {
      found.low = found.high;
      found.use = use_high;
      return found;
    }
    for (bool halve = false; found.high - found.low > 1; halve = !halve) {
      // One unit of use spans many levels: once the next unit is too much, further search is
      // useless.
      bool is_close = false;
      for (const ResourceKind kind : kResourceKinds) {
        bool& its = found.bound[static_cast<size_t>(kind)];
        its = use_high[kind] > most[kind] && found.use[kind] + slack(kind) >= most[kind];
        is_close = is_close || its;
      }
      if (is_close) return found;
      int64_t middle = found.low + (found.high - found.low) / 2;
      if (!halve) {
        for (const ResourceKind kind : kResourceKinds) {
          if (use_high[kind] <= most[kind]) continue;
          const int64_t room = std::max<int64_t>(most[kind] - found.use[kind], 0);
          middle = std::min(middle, found.low + fraction_of(found.high - found.low, room,
                                                            use_high[kind] - found.use[kind]));
        }
        middle = std::clamp(middle, found.low + 1, found.high - 1);
      }
      const ResourceVector use = use_of_children(role, middle);
      if (use.fits_in(most)) {
        found.low = middle;
        found.use = use;
      } else {
        found.high = middle;
        use_high = use;
      }
    }
    found.part = kPartOne;
    for (const ResourceKind kind : kResourceKinds) {
      if (use_high[kind] <= most[kind]) continue;
      const int64_t room = std::max<int64_t>(most[kind] - found.use[kind], 0);
      found.part =
          std::min(found.part, fraction_of(kPartOne, room, use_high[kind] - found.use[kind]));
    }
    const ResourceVector more = use_high - found.use;
    for (const ResourceKind kind : kResourceKinds) {
      found.use[kind] += fraction_of(std::max<int64_t>(more[kind], 0), found.part, kPartOne);
      found.bound[static_cast<size_t>(kind)] =
          use_high[kind] > most[kind] && found.use[kind] + slack(kind) >= most[kind];
    }
    return found;
  }

  // The use of the node at the bound.
  ResourceVector use_at(size_t node, int64_t bound) const {
    const State& state = states_[node];
    if (!state.rises) return uses_[node];
    if (!state.children.empty()) return reach(node, bound).use;
    Tasks& tasks = scratch_;
    tasks.resize(tasks_.size());
    std::copy(tasks_.begin() + static_cast<std::ptrdiff_t>(state.first_ask),
              tasks_.begin() + static_cast<std::ptrdiff_t>(end_of_asks(state)),
              tasks.begin() + static_cast<std::ptrdiff_t>(state.first_ask));
    raise(node, bound, tasks);
    return use_of_leaf(node, tasks);
  }

  // --- for good ---------------------------------------------------------------------------------

  // Sets the tasks below the node to those at the bound; `tasks` must hold the present ones.
  void fill(size_t node, int64_t bound, Tasks& tasks) {
    State& state = states_[node];
    if (!state.rises) return;
    if (state.children.empty()) return raise(node, bound, tasks);
    const Reach to = reach(node, bound);
    const ResourceVector most = most_of(node, bound);
    for (const ResourceKind kind : kResourceKinds) {
      const std::optional<int64_t> limit =
          node == 0 ? std::optional(total_[kind]) : nodes_[node].limit[kind];
      state.used_up[static_cast<size_t>(kind)] =
          to.bound[static_cast<size_t>(kind)] && limit && most[kind] == less_rounding(*limit);
    }
    Tasks high = tasks;
    if (to.low != kSoFar) {
      for (const size_t child : state.children) {
        fill(child, bound_of_child(state, to.low, child), tasks);
      }
    }
    if (to.part > 0) {
      for (const size_t child : state.children) {
        fill(child, bound_of_child(state, to.high, child), high);
      }
      mix(node, tasks, high, to.part);
    }
    if (to.low != kSoFar) state.next_level = state.level + to.low;
  }

  void mix(size_t node, Tasks& tasks, const Tasks& high, int64_t part) const {
    const State& state = states_[node];
    for (size_t j = state.first_ask; j < end_of_asks(state); ++j) {
      tasks[j] += fraction_of(std::max<int64_t>(high[j] - tasks[j], 0), part, kPartOne);
    }
    for (const size_t child : state.children) mix(child, tasks, high, part);
  }

  // Updates the uses to tasks_.
  void settle(size_t node) {
    State& state = states_[node];
    if (!state.rises) return;
    state.level = std::max(state.level, state.next_level);
    if (state.children.empty()) {
      uses_[node] = use_of_leaf(node, tasks_);
    } else {
      uses_[node] = {};
      for (const size_t child : state.children) {
        settle(child);
        uses_[node] += uses_[child];
      }
    }
    note_rising(node);
  }

  void note_rising(size_t node) {
    State& state = states_[node];
    state.rises = std::any_of(state.children.begin(), state.children.end(),
                              [&](size_t child) { return states_[child].rises; });
    for (size_t j = state.first_ask; j < end_of_asks(state); ++j) {
      state.rises = state.rises || rises(j, tasks_);
    }
  }

  // Stops the asks below that need these kinds. Returns whether any of them was rising.
  bool stop(size_t node, const Kinds& kinds) {
    State& state = states_[node];
    if (!state.rises) return false;
    bool stopped = false;
    for (size_t j = state.first_ask; j < end_of_asks(state); ++j) {
      if (!rises(j, tasks_)) continue;
      for (const ResourceKind kind : kResourceKinds) {
        if (kinds[static_cast<size_t>(kind)] && asks_[j].shape[kind] > 0) asks_[j].stopped = true;
      }
      stopped = stopped || asks_[j].stopped;
    }
    for (const size_t child : state.children) stopped = stop(child, kinds) || stopped;
    note_rising(node);
    return stopped;
  }

  // Uses are rounded down per ask and in sums; the total must not exceed the sum.
  int64_t less_rounding(int64_t amount) const {
    return std::max<int64_t>(amount - count(asks_), 0);
  }

  // The maximum error of rounding.
  int64_t slack(ResourceKind kind) const {
    return (total_[kind] >> 16) + count(nodes_) + 2 * count(asks_);
  }

  // Guarantees come first and may exceed the total.
  void cut_guarantees() {
    const auto fits = [&](int64_t part) {
      for (size_t i = 0; i < nodes_.size(); ++i) {
        for (const ResourceKind kind : kResourceKinds) {
          const auto guarantee = guarantees_[i][kind];
          if (guarantee) states_[i].guarantee.set(kind, fraction_of(*guarantee, part, kPartOne));
        }
      }
      return use_of_children(0, 0).fits_in(total_);
    };
    if (fits(kPartOne)) return;
    int64_t low = 0;
    int64_t high = kPartOne;
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      (fits(middle) ? low : high) = middle;
    }
    fits(low);
  }

  const ResourceVector total_;
  const std::vector<FluidNode>& nodes_;
  std::vector<AskState> asks_;
  std::vector<State> states_;
  std::vector<Quota> guarantees_;     // of the nodes, for all kinds
  Tasks tasks_;                       // so far
  std::vector<ResourceVector> uses_;  // of the nodes, for tasks_
  mutable Tasks scratch_;             // of one leaf at a time
};

}  // namespace

FluidShares fill_fluid(const ResourceVector& total, const std::vector<FluidNode>& nodes) {
  CHECK(!nodes.empty());
  const PartsOfTotal parts(total);
  std::vector<FluidNode> in_parts = nodes;
  for (FluidNode& node : in_parts) {
    node.guarantee = parts.of(node.guarantee);
    node.limit = parts.of(node.limit);
    for (FluidAsk& ask : node.asks) ask.shape = parts.of(ask.shape);
  }
  FluidShares shares = Filling(parts.whole(), in_parts).run();
  for (ResourceVector& use : shares.nodes) use = parts.amounts(use);
  return shares;
}

}  // namespace proffer::fair
