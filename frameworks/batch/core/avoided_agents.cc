#include "frameworks/batch/core/avoided_agents.h"

namespace proffer::batch {

bool AvoidedAgents::add_failure(const AgentId& agent, TaskKind kind, uint32_t number, Time now,
                                size_t agents) {
  if (agent.empty()) return false;
  forgive(now);
  Failures& failures = failures_[agent];
  failures.last = now;
  if (failures.tasks.size() < kFailedTasksPerAgent) failures.tasks.emplace(kind, number);
  if (failures.tasks.size() < kFailedTasksPerAgent || avoided_.size() >= avoided_max(agents)) {
    return false;
  }
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
