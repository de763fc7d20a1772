#include "allocator/agents.h"

#include <algorithm>

namespace proffer::fair {
namespace {

__extension__ typedef __int128 Int128;

}  // namespace

int64_t weighted(const ResourceVector& amounts, const ResourceVector& total) {
  int64_t sum = 0;
  for (const ResourceKind kind : kResourceKinds) {
    if (total[kind] <= 0 || amounts[kind] <= 0) continue;
    const Int128 part = (Int128(amounts[kind]) << 20) / total[kind];
    // An ask may be larger than the cluster; more than 2^40 times is as good as infinite.
    sum += static_cast<int64_t>(std::min<Int128>(part, Int128(1) << 60));
  }
  return sum;
}

void FreeAgents::insert(Agent& agent, const ResourceVector& cluster_total) {
  CHECK(!agent.listed) << agent.id.str();
  if (!agent.serves() || agent.claim != nullptr || agent.free.amounts.is_zero()) {
    fresh_.erase(&agent);
    return;
  }
  agent.weighted_free = weighted(agent.free.amounts, cluster_total);
  by_free_[agent.has_gpus() ? 1 : 0][agent.weighted_free].insert(&agent);
  by_stamp_.emplace(agent.grown_at, &agent);
  sum_ += agent.free.amounts;
  agent.listed = true;
}

void FreeAgents::erase(Agent& agent) {
  if (!agent.listed) return;
  AgentsByFree& by_free = by_free_[agent.has_gpus() ? 1 : 0];
  const auto group = by_free.find(agent.weighted_free);
  group->second.erase(&agent);
  if (group->second.empty()) by_free.erase(group);
  by_stamp_.erase(agent.grown_at);
  sum_ -= agent.free.amounts;
  agent.listed = false;
}

void FreeAgents::stamp(Agent& agent) {
  if (agent.listed) by_stamp_.erase(agent.grown_at);
  agent.grown_at = ++stamp_;
  if (!agent.listed) return;
  by_stamp_.emplace(agent.grown_at, &agent);
  fresh_.insert(&agent);
}

}  // namespace proffer::fair
