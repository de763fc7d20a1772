// Builds the table for fluid filling from the tree, and writes the result to the asks.

#include "allocator/rules/entitled_tasks.h"

#include <algorithm>
#include <limits>

#include "allocator/rules/fit.h"

namespace proffer::fair {
namespace {

struct Table {
  std::vector<FluidNode> nodes = {};
  // Destinations of the results, for each ask of each node; nullptr for an open framework.
  std::vector<std::vector<int64_t*>> answers = {};
  std::vector<Leaf*> leaves = {};  // the leaf of each node; nullptr: a role
  bool some_ask = false;
};

void add_asks(const Cluster& cluster, const Leaf& l, FluidNode& node,
              std::vector<int64_t*>& answers) {
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
  add_asks(cluster, l, node, answers);
  table.some_ask = table.some_ask || (is_open ? l.implied() != nullptr : !l.order.empty());
  if (node.asks.empty()) return;
  table.nodes.push_back(std::move(node));
  table.answers.push_back(std::move(answers));
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
  table.leaves.push_back(nullptr);
  for (const auto& [name, child] : role.roles) add_role(cluster, *child, total, place, table);
  for (const auto& [id, child] : role.leaves) add_leaf(cluster, *child, total, place, table);
  const bool is_empty = parent >= 0 && table.nodes.size() == static_cast<size_t>(place) + 1;
  if (!is_empty) return;
  table.nodes.pop_back();
  table.answers.pop_back();
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
  const FluidShares shares = fill_fluid(total, table.nodes);
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
