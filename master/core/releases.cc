// A framework no longer needs the files of some tasks: connected agents are informed now, others
// when they are back.

#include "master/core/releases.h"

#include <algorithm>
#include <map>
#include <set>

#include "common/text.h"
#include "master/core/state.h"

namespace proffer::master {

void Releases::add(const FrameworkId& framework, const std::vector<std::string>& begins) {
  for (const std::string& begin : begins) {
    const std::pair<FrameworkId, std::string> one(framework, begin);
    if (const auto known = std::find(newest_.begin(), newest_.end(), one); known != newest_.end()) {
      newest_.erase(known);
    }
    newest_.push_back(one);
  }
  if (newest_.size() <= kReleasesKeptMax) return;
  newest_.erase(newest_.begin(), newest_.end() - static_cast<std::ptrdiff_t>(kReleasesKeptMax));
}

std::vector<proto::ReleaseFiles> Releases::messages() const {
  std::map<FrameworkId, proto::ReleaseFiles> of;
  for (const auto& [framework, begin] : newest_) {
    proto::ReleaseFiles& message = of[framework];
    message.framework = framework;
    message.begins.push_back(begin);
  }
  std::vector<proto::ReleaseFiles> messages;
  for (auto& [framework, message] : of) messages.push_back(std::move(message));
  return messages;
}

void Master::State::on_release_files(const Framework& framework, const proto::ReleaseFiles& message,
                                     Step& step) {
  const proto::ReleaseFiles told{
      .framework = framework.id(), .begins = message.begins, .agents = {}};
  const auto release = [&](Agent& agent) {
    agent.releases.add(told.framework, told.begins);
    if (agent.connected()) send(agent.peer, told, step);
  };
  if (message.agents.empty()) {
    for (auto& [id, agent] : agents_.all()) release(agent);
  }
  for (const AgentId& id : std::set(message.agents.begin(), message.agents.end())) {
    if (Agent* agent = agents_.find(id)) release(*agent);
  }
}

void Master::State::tell_releases(const Agent& agent, Step& step) {
  for (proto::ReleaseFiles& message : agent.releases.messages()) {
    send(agent.peer, std::move(message), step);
  }
}

}  // namespace proffer::master
