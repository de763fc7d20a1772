// A framework ends: its scheduler, owner or an operator tears it down, its connection is lost and
// it has no failover timeout, or that timeout has passed. Its tasks are killed. It stays without a
// name and a connection until the last task has ended.

#include "common/text.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {

using proto::TaskEvent;
using proto::TaskReason;

void Master::State::on_tear_down(const TearDownFramework& message, Step& step) {
  Result<Framework*> found = frameworks_.exactly(message.framework);
  if (!found) return answer(message.call, std::move(found).error(), step);
  Framework& framework = **found;
  if (Result<void> may =
          permit(message.by, Action::kTearDown, framework.id().str(), step, framework.record.user);
      !may) {
    return answer(message.call, std::move(may).error(), step);
  }
  tear_down(framework, text("by user ", quoted(message.by->user)), step);
  answer(message.call, std::string(), step);
}

void Master::State::tear_down(Framework& framework, std::string_view why, Step& step) {
  const FrameworkId id = framework.id();
  step.trace(FrameworkTornDown{id, std::string(why), framework.tasks});
  if (framework.connected()) {
    // The scheduler waits for this answer, and repeats the request if it does not come.
    send_error(framework.peer, Error::not_found("the framework is torn down"), true, false, step);
    step.out.actions.emplace_back(Drop{framework.peer});
    close(framework.peer);
    end_scheduler_session(framework, step);
  }
  deadlines_.cancel({.kind = DeadlineKind::kFailover, .peer = {}, .id = id.str()});
  deadlines_.cancel({.kind = DeadlineKind::kBackOff, .peer = {}, .id = id.str()});
  if (framework.durable()) {
    write(framework.record, true, step);
    erase_store(id, step);
  }
  frameworks_.mark_gone(framework);
  series_.forget(id);
  unacknowledged_ -= framework.refusals.size();
  framework.refusals.clear();

  // The agents to inform. The framework may be forgotten with the last of its tasks.
  std::set<AgentId> agents;
  for (const AgentId& name : framework.executor_agents) {
    const Agent* agent = agents_.find(name);
    if (agent != nullptr && agent->connected()) agents.insert(agent->id);
  }
  // From now on the master acknowledges its updates, the kept ones first.
  for (Task* task : tasks_.of(id)) {
    const Agent* agent = agents_.find(task->agent);
    if (agent != nullptr && agent->connected()) {
      if (task->agent_sequence > task->acknowledged) {
        acknowledge_to_agent(*agent, task->key(), task->agent_sequence, step);
      }
      if (!task->ended()) agents.insert(agent->id);
    }
    task->acknowledged = task->agent_sequence;
    drop_pending(*task);
    if (!task->ended()) {
      tasks_.move(*task, TaskEvent::kKillAsked, step.now);
      task->reason = TaskReason::kFrameworkTornDown;
      task->report.change(
          [&](TaskReport& report) { report.message = text("its framework was torn down: ", why); });
    }
    end_if_told(*task);
  }
  for (const AgentId& agent : agents) {
    send(agents_.find(agent)->peer, proto::ShutdownFramework{.framework = id}, step);
  }
  if (Framework* left = frameworks_.find(id)) forget_if_over(*left);
}

Framework& Master::State::gone_framework(const FrameworkId& id) {
  Framework& framework = frameworks_.add({.framework = id, .name = id.str(), .role = kGoneRole});
  frameworks_.mark_gone(framework);
  allocator_.add_framework(id, kGoneRole, OfferMode::kAsks);
  allocator_.set_framework_active(id, false);
  return framework;
}

void Master::State::forget_if_over(Framework& framework) {
  if (!framework.gone || framework.tasks > 0 || framework.held > 0) return;
  const FrameworkId id = framework.id();
  allocator_.remove_framework(id);
  frameworks_.erase(id);
}

}  // namespace proffer::master
