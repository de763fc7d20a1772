#include "master/core/agents.h"

#include <algorithm>

#include "common/check.h"

namespace proffer::master {

ResourceVector Agent::total() const {
  ResourceVector sum;
  for (const Slice& slice : slices) sum += slice.resources.amounts;
  return sum;
}

std::string Agent::why_no_tasks() const {
  if (!starts.is_closed()) return trouble;
  return trouble.empty() ? starts.why() : trouble + "; " + starts.why();
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

bool Agents::move(Agent& agent, proto::AgentEvent event) {
  const std::optional<proto::AgentState> next = proto::next_state(agent.state, event);
  if (!next) return false;
  agent.state = *next;
  return true;
}

const GoneAgent* Agents::find_gone(const AgentId& agent) const {
  const auto found = gone_.find(agent);
  return found == gone_.end() ? nullptr : &found->second;
}

const GoneAgent& Agents::oldest_gone() const {
  CHECK(!gone_.empty()) << "no agent is gone";
  return std::min_element(gone_.begin(), gone_.end(),
                          [](const auto& a, const auto& b) { return a.second.at < b.second.at; })
      ->second;
}

bool Agents::was_declared_gone(const AgentId& agent, const Secret& secret) const {
  const auto has = [&](const std::vector<Secret>& secrets) {
    return std::find(secrets.begin(), secrets.end(), secret) != secrets.end();
  };
  if (const GoneAgent* gone = find_gone(agent)) {
    return gone->secret == secret || has(gone->gone_secrets);
  }
  const Agent* known = find(agent);
  return known != nullptr && has(known->gone_secrets);
}

}  // namespace proffer::master
