// A scheduler asks for the states of its tasks. Begin with on_reconcile. The master can answer that
// a task is unknown only when each agent that could run it is back or removed; until then the
// question waits. Each Reconcile gets all known states at once, and then Reconciled. If agents are
// missing, another Reconciled follows when none is missing.

#include "common/text.h"
#include "master/core/state.h"

namespace proffer::master {

using proto::TaskReason;
using proto::TaskState;

namespace {

// Further questions are dropped; the next reconcile repeats them.
constexpr size_t kWaitingMax = kTasksPerAgentMax;

}  // namespace

void Master::State::on_reconcile(Framework& framework, const proto::Reconcile& message,
                                 Step& step) {
  for (size_t i = 0; i < message.tasks.size(); ++i) {
    const AgentId on = i < message.agents.size() ? message.agents[i] : AgentId();
    Task* task = tasks_.find({framework.id(), message.tasks[i]});
    if (task != nullptr && task->unconfirmed) {
      // Schedulers of earlier versions do not name the agent of a task.
      const bool says_nothing = message.agents.empty() && !task->hidden;
      if (says_nothing || on == task->agent) confirm(*task, step);
    }
    tell_truth(framework, message.tasks[i], step, on);
  }
  if (message.tasks.empty()) {
    for (const Task* task : tasks_.of(framework.id())) {
      if (!task->ended() && !task->hidden) tell_truth(framework, task->key().task, step);
    }
    for (const TaskId& task : remembered_and_unknown(framework)) tell_truth(framework, task, step);
    framework.awaits_all |= awaited_ > 0;
  }
  framework.awaits_agents |= awaited_ > 0;
  tell_reconciled(framework, step);
}

void Master::State::tell_reconciled(const Framework& framework, Step& step) {
  send(framework.peer, proto::Reconciled{.missing_agents = static_cast<uint32_t>(awaited_)}, step);
}

// The state of a task that is in no table; none while an agent may still report it. If its
// framework remembers the task, its store decides. If the store has the end, it is the answer.
// Otherwise the agent decides, which keeps a task until its end is acknowledged, and reports all
// kept tasks when it registers. So if an agent with the same memory does not report the task, it
// never received it, and the id is free again.
std::optional<proto::TaskStatus> Master::State::truth_about_unknown(const Framework& framework,
                                                                    const TaskId& task,
                                                                    Step& step) {
  proto::TaskStatus status{.state = TaskState::kLost,
                           .reason = TaskReason::kTaskUnknown,
                           .message = "neither the master nor an agent knows this task"};
  const FrameworkStore* store = remembered_by(framework);
  std::optional<RememberedTask> known;
  if (store != nullptr) known = find_remembered(*store, task);
  if (!known) {
    if (awaited_ > 0) return std::nullopt;
    if (store != nullptr) {
      status.state = TaskState::kRefused;
      status.message = "the master never accepted a launch of this task";
    }
    return status;
  }
  status.agent = known->agent;
  if (known->end) {
    status.state = *known->end;
    status.message = "the end is recorded in the framework's store";
    return status;
  }
  const Agent* agent = agents_.find(known->agent);
  const bool is_same = agent != nullptr && agent->admission == known->admission;
  if (is_same && agent->seen && agent->memory == known->memory) {
    forget_launch(framework, task, step);
    status.state = TaskState::kRefused;
    status.message = "the launch did not reach the agent: the task was never started";
    return status;
  }
  if (awaited_ > 0) return std::nullopt;
  status.message = text("agent ", known->agent.str(),
                        is_same ? " has lost its memory" : " was removed from the cluster",
                        ": it is unknown whether the task was started");
  return status;
}

// Sequence 0: no acknowledgement is expected.
void Master::State::tell_truth(Framework& framework, const TaskId& id, Step& step,
                               const AgentId& on) {
  const TaskKey key{framework.id(), id};
  proto::TaskStatus status;
  const Task* task = tasks_.find(key);
  if (task != nullptr && task->hidden) task = nullptr;
  const proto::TaskRow* ended = task == nullptr ? tasks_.find_ended(key) : nullptr;
  if (task != nullptr || ended != nullptr) {
    const proto::TaskRow row = task != nullptr ? row_of(*task) : *ended;
    status = {.agent = row.agent,
              .state = row.state,
              .reason = row.reason,
              .message = row.message,
              .exit_code = row.exit_code,
              .signal = row.signal,
              .healthy = row.healthy,
              .ready = row.ready,
              .labels = row.labels};
  } else if (std::optional<proto::TaskStatus> truth = truth_about_unknown(framework, id, step)) {
    status = *std::move(truth);
  } else {
    if (framework.waiting.size() < kWaitingMax)
      framework.waiting.try_emplace(id).first->second.agent = on;
    return;
  }
  status.task = id;
  status.source = proto::UpdateSource::kMaster;
  status.at = step.now;
  send(framework.peer, proto::Update{.framework = framework.id(), .status = std::move(status)},
       step);
}

// All awaited agents are back or removed.
void Master::State::answer_waiting(Step& step) {
  for (auto& [id, framework] : frameworks_.all()) {
    if (!framework.connected()) continue;
    for (const auto& [task, asked] : std::exchange(framework.waiting, {})) {
      tell_truth(framework, task, step);
    }
    framework.awaits_all = false;
    if (std::exchange(framework.awaits_agents, false)) tell_reconciled(framework, step);
  }
}

}  // namespace proffer::master
