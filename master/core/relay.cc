// Passes bytes between a scheduler and its executors, best effort: failures are not reported.

#include "master/core/state.h"

namespace proffer::master {

void Master::State::relay_to_agent(const Framework& framework, proto::FrameworkMessage&& message,
                                   Step& step) {
  const Agent* agent = agents_.find(message.agent);
  if (agent == nullptr || !agent->connected()) return;
  message.framework = framework.id();
  message.to_scheduler = false;
  send(agent->peer, std::move(message), step);
}

void Master::State::relay_to_scheduler(const Agent& agent, proto::FrameworkMessage&& message,
                                       Step& step) {
  const Framework* framework = connected_framework(message.framework);
  if (framework == nullptr) return;
  // A shared executor outlives its tasks.
  if (!framework->executor_agents.contains(agent.id) && !agent.tasks.has_of(framework->id()))
    return;
  message.agent = agent.id;
  message.to_scheduler = true;
  send(framework->peer, std::move(message), step);
}

}  // namespace proffer::master
