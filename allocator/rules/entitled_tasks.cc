// Builds the table for fluid filling from the tree, and writes the result to the asks.

#include "allocator/rules/entitled_tasks.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "allocator/rules/fit.h"
#include "allocator/rules/pools.h"

namespace proffer::fair {
namespace {

struct Table {
  std::vector<FluidNode> nodes = {};
  // Destinations of the results, for each ask of each node; nullptr for an open framework.
  std::vector<std::vector<int64_t*>> answers = {};
  // The pool of each ask of each node; shorter if the last ones have none.
  std::vector<std::vector<std::optional<size_t>>> pools = {};
  bool some_pool = false;
  std::vector<Leaf*> leaves = {};  // the leaf of each node; nullptr: a role
  bool some_ask = false;
};

void add_asks(const Cluster& cluster, const Leaf& l, FluidNode& node,
              std::vector<int64_t*>& answers, std::vector<std::optional<size_t>>& pools) {
  for (AskEntry* ask : l.order) {
    if (l.mode == OfferMode::kOpen && !ask->is_implied()) continue;
    ask->wanted_then = ask->wanted();
    ask->entitled = 0;
    const bool may_grow =
        !ask->is_refused && (ask->wanted_then == ask->placed || could_be_served(cluster, *ask));
    const int64_t tasks_max = may_grow ? ask->wanted_then : ask->placed;
    if (tasks_max == 0) continue;
    node.asks.push_back(
        {.shape = ask->ask.shape, .tasks_max = tasks_max, .priority = ask->ask.priority});
    answers.push_back(&ask->entitled);
    if (const std::optional<size_t> pool = pool_of(cluster, *ask)) {
      pools.resize(answers.size());
      pools.back() = pool;
    }
  }
}

void add_leaf(const Cluster& cluster, Leaf& l, const ResourceVector& total, int32_t parent,
              Table& table) {
  FluidNode node{.parent = parent};
  std::vector<int64_t*> answers;
  l.entitled = {};
  ResourceVector without_ask = l.use();
  for (AskEntry* ask : l.order) without_ask -= ask->ask.shape * ask->placed;
  without_ask = without_ask.max(ResourceVector());
  if (!without_ask.is_zero()) {
    node.asks.push_back(
        {.shape = without_ask, .tasks_max = 1, .priority = std::numeric_limits<int32_t>::max()});
    answers.push_back(&l.entitled_without_ask);
  }
  const bool is_open = l.mode == OfferMode::kOpen;
  if (is_open && l.wants_offers() && !l.refuses && l.implied() == nullptr) {
    node.asks.push_back({.shape = total, .tasks_max = 1});
    answers.push_back(nullptr);
  }
  if (is_open) {
    for (AskEntry* ask : l.order) ask->wanted_then = ask->wanted();
  }
  std::vector<std::optional<size_t>> pools;
  add_asks(cluster, l, node, answers, pools);
  table.some_ask = table.some_ask || (is_open ? l.implied() != nullptr : !l.order.empty());
  if (node.asks.empty()) return;
  table.nodes.push_back(std::move(node));
  table.answers.push_back(std::move(answers));
  table.some_pool = table.some_pool || !pools.empty();
  table.pools.push_back(std::move(pools));
  table.leaves.push_back(&l);
}

void add_role(const Cluster& cluster, const Role& role, const ResourceVector& total, int32_t parent,
              Table& table) {
  const auto place = static_cast<int32_t>(table.nodes.size());
  table.nodes.push_back({.parent = parent});
  if (parent >= 0) {
    FluidNode& node = table.nodes.back();
    node.weight = role.settings.weight;
    node.guarantee = role.settings.guarantee;
    node.limit = role.settings.limit;
  }
  table.answers.emplace_back();
  table.pools.emplace_back();
  table.leaves.push_back(nullptr);
  for (const auto& [name, child] : role.roles) add_role(cluster, *child, total, place, table);
  for (const auto& [id, child] : role.leaves) add_leaf(cluster, *child, total, place, table);
  const bool is_empty = parent >= 0 && table.nodes.size() == static_cast<size_t>(place) + 1;
  if (!is_empty) return;
  table.nodes.pop_back();
  table.answers.pop_back();
  table.pools.pop_back();
  table.leaves.pop_back();
}

// Whether all demand, by node, fits the cluster and all limits: then each ask is entitled to all of
// its demand, and filling is not needed.
bool all_fits(const ResourceVector& total, const std::vector<FluidNode>& nodes,
              std::vector<ResourceVector>& wanted) {
  wanted.resize(nodes.size());
  for (size_t i = nodes.size(); i-- > 0;) {
    for (const FluidAsk& ask : nodes[i].asks) {
      for (const ResourceKind kind : kResourceKinds) {
        if (ask.shape[kind] == 0) continue;
        if (ask.tasks_max > (total[kind] - wanted[i][kind]) / ask.shape[kind]) return false;
        wanted[i][kind] += ask.shape[kind] * ask.tasks_max;
      }
    }
    if (!wanted[i].fits_in(total) || !nodes[i].limit.contains(wanted[i])) return false;
    if (i > 0) wanted[static_cast<size_t>(nodes[i].parent)] += wanted[i];
  }
  return true;
}

// Calls visit(node's index, ask's index) for the asks of the pool.
template <class Visit>
void for_each_in(const Table& table, size_t pool, Visit visit) {
  for (size_t i = 0; i < table.pools.size(); ++i) {
    for (size_t j = 0; j < table.pools[i].size(); ++j) {
      if (table.pools[i][j] == pool) visit(i, j);
    }
  }
}

// Splits each pool that is too small among its asks, by the rules for the whole cluster, and caps
// the asks at their parts. Those that have less than their part in `before`, the result with the
// last caps, keep what they have there. Returns whether some cap is higher than before.
bool cap_by_pools(const Cluster& cluster, const FluidShares* before, Table& table) {
  constexpr int64_t kSlack = kTaskOne / 256;
  bool is_higher = false;
  for (size_t pool = 0; pool < cluster.pools.totals.size(); ++pool) {
    const ResourceVector& total = cluster.pools.totals[pool];
    std::vector<FluidNode> nodes = table.nodes;
    for (FluidNode& node : nodes) {
      for (FluidAsk& ask : node.asks) ask.tasks_max = 0;
    }
    ResourceVector wanted;
    bool is_full = false;
    for_each_in(table, pool, [&](size_t i, size_t j) {
      FluidAsk& ask = nodes[i].asks[j];
      ask.tasks_max = table.nodes[i].asks[j].tasks_max;
      for (const ResourceKind kind : kResourceKinds) {
        if (ask.shape[kind] == 0 || is_full) continue;
        is_full = ask.tasks_max > (total[kind] - wanted[kind]) / ask.shape[kind];
        if (!is_full) wanted[kind] += ask.shape[kind] * ask.tasks_max;
      }
      if (before == nullptr || !ask.cap) return;
      const int64_t has = before->tasks[i][j];
      ask.cap = has < *ask.cap - kSlack ? std::optional(has) : std::nullopt;
    });
    if (!is_full) continue;
    const FluidShares parts = fill_fluid(total, nodes);
    for_each_in(table, pool, [&](size_t i, size_t j) {
      std::optional<int64_t>& cap = table.nodes[i].asks[j].cap;
      const int64_t part = parts.tasks[i][j];
      is_higher = is_higher || !cap || part > *cap + kSlack;
      if (!cap || part > *cap) cap = part;
    });
  }
  return is_higher;
}

// The entitlements, where pools bound the asks.
FluidShares fill_with_pools(const Cluster& cluster, const ResourceVector& total, Table& table) {
  // If limits or other use of its role keep an ask from its part, others may have more.
  constexpr int kRoundsMax = 3;
  if (!table.some_pool || !cap_by_pools(cluster, nullptr, table)) {
    return fill_fluid(total, table.nodes);
  }
  FluidShares shares = fill_fluid(total, table.nodes);
  for (int round = 1; round < kRoundsMax && cap_by_pools(cluster, &shares, table); ++round) {
    shares = fill_fluid(total, table.nodes);
  }
  return shares;
}

void entitle_leaves(const Table& table, const std::vector<ResourceVector>& nodes,
                    const ResourceVector& total) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    Leaf* const leaf = table.leaves[i];
    if (leaf == nullptr) continue;
    leaf->entitled = nodes[i];
    leaf->entitled_kind = dominant_kind(nodes[i], total);
  }
}

}  // namespace

bool find_entitled_tasks(const Cluster& cluster) {
  cluster.entitled_anew = true;
  if (!cluster.least_shape) {  // No ask is declared, so no task is owed.
    for (const auto& [id, l] : cluster.leaves) l->entitled = {};
    return false;
  }
  const ResourceVector total = cluster.usable_total();
  Table table;
  add_role(cluster, cluster.tree.root(), total, -1, table);
  if (!table.some_ask) return false;  // No task is owed.
  std::vector<ResourceVector> wanted;
  if (all_fits(total, table.nodes, wanted)) {
    entitle_leaves(table, wanted, total);
    for (size_t i = 0; i < table.answers.size(); ++i) {
      for (size_t j = 0; j < table.answers[i].size(); ++j) {
        int64_t* const answer = table.answers[i][j];
        if (answer != nullptr) *answer = table.nodes[i].asks[j].tasks_max * kTaskOne;
      }
    }
    return false;
  }
  const FluidShares shares = fill_with_pools(cluster, total, table);
  entitle_leaves(table, shares.nodes, total);
  bool some_lack = false;
  for (size_t i = 0; i < table.answers.size(); ++i) {
    for (size_t j = 0; j < table.answers[i].size(); ++j) {
      int64_t* const answer = table.answers[i][j];
      const int64_t lacking = table.nodes[i].asks[j].tasks_max * kTaskOne - shares.tasks[i][j];
      some_lack = some_lack || lacking > kTaskOne / 256;
      if (answer != nullptr) *answer = shares.tasks[i][j];
    }
  }
  return some_lack;
}

}  // namespace proffer::fair
