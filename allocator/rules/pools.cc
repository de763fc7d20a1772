#include "allocator/rules/pools.h"

#include <algorithm>

#include "allocator/rules/fit.h"

namespace proffer::fair {
namespace {

constexpr size_t kPoolsMax = 64;

std::optional<size_t> find_pool(const Cluster& cluster, const AskEntry& ask) {
  std::vector<bool> suits;
  ResourceVector total;
  bool are_all = true;
  for (const auto& [id, a] : cluster.agents) {
    if (a->draining) continue;
    const bool it_suits = could_ever_fit(ask, *a);
    are_all = are_all && it_suits;
    if (!it_suits) continue;
    if (a->slot >= suits.size()) suits.resize(a->slot + 1);
    suits[a->slot] = true;
    total += a->counted_total();
  }
  if (are_all) return std::nullopt;
  Pools& pools = cluster.pools;
  const auto known = pools.by_agents.find(suits);
  if (known != pools.by_agents.end()) return known->second;
  if (pools.totals.size() == kPoolsMax) return std::nullopt;
  pools.by_agents.emplace(std::move(suits), pools.totals.size());
  pools.totals.push_back(total);
  return pools.totals.size() - 1;
}

}  // namespace

std::optional<size_t> pool_of(const Cluster& cluster, const AskEntry& ask) {
  if (!ask.is_inflexible()) return std::nullopt;
  if (cluster.pools.version != cluster.agents_version) {
    cluster.pools = {.version = cluster.agents_version};
  }
  if (ask.pool_at != cluster.agents_version) {
    ask.pool = find_pool(cluster, ask);
    ask.pool_at = cluster.agents_version;
  }
  return ask.pool;
}

}  // namespace proffer::fair
