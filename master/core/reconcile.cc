// A scheduler asks for the truth about its tasks. Begin with on_reconcile. "Nobody knows this task"
// is the truth only when every agent that could hold it is back or removed; until then the question
// waits.

#include "master/core/state.h"

namespace proffer::master {

using proto::TaskReason;
using proto::TaskState;

namespace {

// Further questions are dropped: they are asked again with the next reconcile.
constexpr size_t kWaitingMax = kTasksPerAgentMax;

}  // namespace

void Master::State::on_reconcile(Framework& framework, const proto::Reconcile& message,
                                 Step& step) {
  if (!message.tasks.empty()) {
    for (const TaskId& task : message.tasks) tell_truth(framework, task, step);
    return;
  }
  for (const Task* task : tasks_.of(framework.id())) {
    if (!task->ended()) tell_truth(framework, task->key.task, step);
  }
}

// Sequence 0: not to be acknowledged.
void Master::State::tell_truth(Framework& framework, const TaskId& id, Step& step) {
  const TaskKey key{framework.id(), id};
  proto::TaskStatus status{.task = id,
                           .agent = {},
                           .state = TaskState::kLost,
                           .reason = TaskReason::kTaskUnknown,
                           .source = proto::UpdateSource::kMaster,
                           .sequence = 0,
                           .message = "nobody knows this task",
                           .data = {},
                           .exit_code = {},
                           .signal = {},
                           .at = step.now};
  const Task* task = tasks_.find(key);
  const std::optional<proto::TaskRow> ended_row =
      task == nullptr && tasks_.find_ended(key) != nullptr ? std::optional(*tasks_.find_ended(key))
                                                           : std::nullopt;
  if (task != nullptr || ended_row) {
    const proto::TaskRow row = task != nullptr ? row_of(*task) : *ended_row;
    status.agent = row.agent;
    status.state = row.state;
    status.reason = row.reason;
    status.message = row.message;
    status.exit_code = row.exit_code;
    status.signal = row.signal;
    status.healthy = row.healthy;
    status.ready = row.ready;
  } else if (awaited_ > 0) {
    if (framework.waiting.size() < kWaitingMax) framework.waiting.try_emplace(id);
    return;
  }
  send(framework.peer, proto::Update{.framework = framework.id(), .status = std::move(status)},
       step);
}

void Master::State::answer_waiting(Step& step) {
  for (auto& [id, framework] : frameworks_.all()) {
    if (!framework.connected()) continue;
    for (const auto& [task, kill] : std::exchange(framework.waiting, {})) {
      tell_truth(framework, task, step);
    }
  }
}

}  // namespace proffer::master
