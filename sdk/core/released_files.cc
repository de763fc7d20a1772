#include "sdk/core/released_files.h"

#include <utility>

#include "common/ids.h"
#include "common/limits.h"

namespace proffer::sdk {

std::vector<proto::ReleaseFiles> ReleasedFiles::add(const proto::ReleaseFiles& released) {
  std::vector<AgentId> agents;
  for (const AgentId& agent : released.agents) {
    if (is_valid_name(agent.str())) agents.push_back(agent);
  }
  if (agents.empty() && !released.agents.empty()) return {};  // an empty list would mean all agents
  if (agents.size() > kReleasedAgentsMax) agents.clear();
  std::vector<proto::ReleaseFiles> messages;
  for (const std::string& begin : released.begins) {
    if (!is_valid_name(begin)) continue;
    if (messages.empty() || messages.back().begins.size() == kReleasedNamesMax) {
      messages.push_back({.framework = {}, .begins = {}, .agents = agents});
    }
    messages.back().begins.push_back(begin);
  }
  newest_.insert(newest_.end(), messages.begin(), messages.end());
  while (newest_.size() > kReleasesKeptMax) newest_.pop_front();
  return messages;
}

}  // namespace proffer::sdk
