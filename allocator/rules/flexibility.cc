#include "allocator/rules/flexibility.h"

#include <algorithm>

#include "allocator/rules/fit.h"

namespace proffer::fair {
namespace {

// The number of agents that could ever fit the first ask of a leaf; for a role, of the leaf whose
// turn it is.
int64_t flexibility(const Cluster& cluster, const Node& node, const LeafOrder& order) {
  const auto everywhere = static_cast<int64_t>(cluster.agents.size());
  if (!node.is_leaf) {
    const NodeSet& nodes = order.nodes(static_cast<const Role&>(node));
    return nodes.empty() ? everywhere : flexibility(cluster, **nodes.begin(), order);
  }
  int64_t least = everywhere;
  for (const AskEntry* ask : static_cast<const Leaf&>(node).order) {
    if (ask->unmet() == 0) continue;
    if (!ask->is_inflexible()) break;
    // Recounts only after enough agents have changed: a look at all agents for each change would
    // cost too much.
    if (ask->flexible_at == 0 ||
        cluster.agents_version - ask->flexible_at > cluster.agents.size() / 64) {
      ask->flexible_at = cluster.agents_version;
      ask->flexibility = std::count_if(
          cluster.agents.begin(), cluster.agents.end(),
          [&](const auto& a) { return a.second->serves() && could_ever_fit(*ask, *a.second); });
    }
    least = ask->flexibility;
    break;
  }
  return least;
}

}  // namespace

Node* least_flexible(const Cluster& cluster, const Role& role, const LeafOrder& order) {
  constexpr int kEqualsMax = 64;
  const NodeSet& nodes = order.nodes(role);
  if (!cluster.some_inflexible || nodes.size() < 2) return nullptr;
  Node* const first = *nodes.begin();
  Node* least = nullptr;
  int64_t agents = flexibility(cluster, *first, order);
  int looked = 0;
  for (auto node = std::next(nodes.begin()); node != nodes.end() && ++looked < kEqualsMax; ++node) {
    if ((*node)->share != first->share) break;
    const int64_t its = flexibility(cluster, **node, order);
    if (its >= agents) continue;
    least = *node;
    agents = its;
  }
  return least;
}

}  // namespace proffer::fair
