#include "master/core/agents.h"

namespace proffer::master {

ResourceVector Agent::total() const {
  ResourceVector sum;
  for (const Slice& slice : slices) sum += slice.resources.amounts;
  return sum;
}

Agent* Agents::find(const AgentId& agent) {
  const auto found = agents_.find(agent);
  return found == agents_.end() ? nullptr : &found->second;
}

const Agent* Agents::find(const AgentId& agent) const {
  const auto found = agents_.find(agent);
  return found == agents_.end() ? nullptr : &found->second;
}

Agent& Agents::add(const AgentId& agent, const Secret& secret) {
  Agent& added = agents_[agent];
  added.id = agent;
  added.secret = secret;
  return added;
}

}  // namespace proffer::master
