// Agents that an operator declared gone: their machines never come back. Begin with
// on_declare_gone. If such an agent does come back, it is refused (register_agent.cc), and ends its
// tasks.

#include <algorithm>

#include "common/text.h"
#include "master/core/explain.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {

using proto::AgentEvent;
using proto::AgentState;

void Master::State::on_declare_gone(const DeclareGone& message, Step& step) {
  const AgentId& id = message.agent;
  if (Result<void> may = permit(message.by, Action::kDeclareGone, id.str(), step); !may) {
    return answer(message.call, std::move(may).error(), step);
  }
  // It may be a repeated call, because the answer was lost.
  const bool is_gone = agents_.find(id) == nullptr && agents_.find_gone(id) != nullptr;
  if (is_gone) return answer(message.call, std::string(), step);
  Result<Agent*> found = find_agent(id);
  if (!found) return answer(message.call, std::move(found).error(), step);
  Agent& agent = **found;
  if (!agents_.move(agent, AgentEvent::kDeclaredGone)) {
    return answer(
        message.call,
        Error::failed_precondition(text("agent ", quoted(id.str()), " is ",
                                        proto::to_text(agent.state), ", so its machine is running"))
            .with_hint(text("empty it with proffer drain ", id.str(),
                            ", or stop its machine first; then it is disconnected")),
        step);
  }
  step.trace(AgentDeclaredGone{id, agent.tasks.size()});
  keep_gone({.id = id,
             .secret = agent.secret,
             .at = step.now,
             .admission = agent.admission,
             .gone_secrets = agent.gone_secrets},
            step);
  end_agent(agent, text("agent ", id.str(), " was declared gone by ", audit_name(message.by.get())),
            step);
  answer(message.call, std::string(), step);
}

// Also replaces its row in the registry.
void Master::State::keep_gone(GoneAgent gone, Step& step) {
  write(proto::AgentRecord{.agent = gone.id,
                           .secret = gone.secret,
                           .unreachable = true,
                           .admission = gone.admission,
                           .gone_at = gone.at,
                           .gone_secrets = gone.gone_secrets},
        false, step);
  arm_forgetting(gone);
  agents_.add_gone(std::move(gone));
  if (agents_.gone().size() > kGoneAgentsMax) forget_gone(agents_.oldest_gone().id, step);
}

void Master::State::arm_forgetting(const GoneAgent& gone) {
  deadlines_.arm({.kind = DeadlineKind::kGoneForgotten, .peer = {}, .id = gone.id.str()},
                 std::max(now_, gone.at + kGoneAgentAge));
}

// If it comes back later it is a new agent, and its tasks are killed as unknown.
void Master::State::forget_gone(const AgentId& id, Step& step) {
  const GoneAgent* gone = agents_.find_gone(id);
  if (gone == nullptr) return;
  write(proto::AgentRecord{.agent = id, .secret = gone->secret}, true, step);
  drop_gone(id);
}

// Leaves its row in the registry.
void Master::State::drop_gone(const AgentId& id) {
  deadlines_.cancel({.kind = DeadlineKind::kGoneForgotten, .peer = {}, .id = id.str()});
  agents_.erase_gone(id);
}

}  // namespace proffer::master
