#include "frameworks/batch/core/avoided_agents.h"

namespace proffer::batch {

bool AvoidedAgents::add_failure(const AgentId& agent, TaskKind kind, uint32_t number, Time now,
                                size_t agents) {
  if (agent.empty()) return false;
  forgive(now);
  Failures& failures = failures_[agent];
  failures.last = now;
  if (failures.tasks.size() < kFailedTasksPerAgent) failures.tasks.emplace(kind, number);
  return avoid_if_bad(agent, agents);
}

bool AvoidedAgents::add_end(const AgentId& agent, bool was_slow, Time now, size_t agents) {
  if (agent.empty()) return false;
  forgive(now);
  if (was_slow) {
    Failures& failures = failures_[agent];
    failures.last = now;
    failures.slow = std::min(failures.slow + 1, kSlowTasksPerAgent);
    return avoid_if_bad(agent, agents);
  }
  const auto known = failures_.find(agent);
  if (known == failures_.end()) return false;
  known->second.slow = 0;
  if (!known->second.are_enough()) avoided_.erase(agent);
  if (known->second.tasks.empty()) failures_.erase(known);
  return false;
}

bool AvoidedAgents::avoid_if_bad(const AgentId& agent, size_t agents) {
  if (!failures_.at(agent).are_enough() || avoided_.size() >= avoided_max(agents)) return false;
  return avoided_.insert(agent).second;
}

void AvoidedAgents::forgive_all() {
  failures_.clear();
  avoided_.clear();
}

void AvoidedAgents::forgive(Time now) {
  std::erase_if(failures_, [&](const auto& row) {
    if (now - row.second.last < kAvoidFor) return false;
    avoided_.erase(row.first);
    return true;
  });
}

std::optional<Time> AvoidedAgents::next_deadline() const {
  std::optional<Time> next;
  for (const AgentId& agent : avoided_) {
    const Time until = failures_.at(agent).last + kAvoidFor;
    if (!next || until < *next) next = until;
  }
  return next;
}

}  // namespace proffer::batch
