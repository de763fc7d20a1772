// Draining an agent: it is not offered any more, and its tasks get notice and are killed at the
// deadline. Begin with on_drain. A drain holds over restarts of all processes until an operator
// cancels it.

#include <algorithm>

#include "common/text.h"
#include "master/core/explain.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {

Result<Agent*> Master::State::find_agent(const AgentId& id) {
  if (Agent* agent = agents_.find(id)) return agent;
  Error error = Error::not_found(text("there is no agent ", quoted(id.str())));
  std::vector<std::string> names;
  for (const auto& [name, agent] : agents_.all()) names.push_back(name.str());
  return std::move(error).with_hint(hint_of(id.str(), names, "agents"));
}

void Master::State::on_drain(const DrainAgent& message, Step& step) {
  if (Result<void> may = permit(message.by, Action::kDrainAgent, message.agent.str(), step); !may) {
    return answer(message.call, std::move(may).error(), step);
  }
  Result<Agent*> found = find_agent(message.agent);
  if (!found) return answer(message.call, std::move(found).error(), step);
  Agent& agent = **found;
  const Duration grace =
      std::clamp(message.grace.value_or(options_.allocator.revoke_grace), Duration(), kDurationMax);
  agent.drained_by = step.now + grace;
  write_agent(agent, step);
  if (agent.allocatable) allocator_.set_agent_draining(agent.id, agent.is_closed());
  step.trace(AgentDrains{agent.id, grace, agent.tasks.size()});
  mark_drained_tasks(agent, step);
  answer(message.call, std::string(), step);
}

void Master::State::mark_drained_tasks(Agent& agent, Step& step) {
  if (!agent.drained_by) return;
  std::vector<Task*> marked;
  for (Task* task : agent.tasks) {
    if (mark(*task, {RevokeReason::kDraining, RoleName(), *agent.drained_by})) {
      marked.push_back(task);
    }
  }
  send_notices(marked, step);
}

// Tasks that have left do not return, and kills continue.
void Master::State::on_undrain(const UndrainAgent& message, Step& step) {
  if (Result<void> may = permit(message.by, Action::kDrainAgent, message.agent.str(), step); !may) {
    return answer(message.call, std::move(may).error(), step);
  }
  Result<Agent*> found = find_agent(message.agent);
  if (!found) return answer(message.call, std::move(found).error(), step);
  Agent& agent = **found;
  if (!agent.drained_by) {
    return answer(
        message.call,
        Error::failed_precondition(text("agent ", quoted(agent.id.str()), " is not being drained"))
            .with_hint("there is nothing to undo; proffer agents shows the state of each agent"),
        step);
  }
  agent.drained_by.reset();
  write_agent(agent, step);
  if (agent.allocatable) allocator_.set_agent_draining(agent.id, agent.is_closed());
  std::vector<Task*> marked;  // These still have to end, but later.
  std::vector<Task*> stay;
  for (Task* task : agent.tasks) {
    const bool was_to_end = task->ending->revoke && !task->ended() && !task->kill_asked;
    if (undrain(*task)) {
      marked.push_back(task);
    } else if (was_to_end && !task->ending->revoke) {
      stay.push_back(task);
    }
  }
  send_notices(marked, step);
  send_withdrawals(stay, agent.id, step);
  step.trace(AgentDrainsNoLonger{agent.id});
  answer(message.call, std::string(), step);
}

void Master::State::answer(uint64_t call, Result<std::string> result, Step& step) {
  step.out.actions.emplace_back(Answer{call, std::move(result)});
}

}  // namespace proffer::master
