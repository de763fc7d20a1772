// Updates of tasks: from agents (on_update) or from the master itself (tell), to schedulers at
// least once and in order (keep_and_send, send_again), until they are acknowledged
// (on_acknowledge).
//
// At most kUpdatesPerTaskMax are kept per task and kUnacknowledgedMax in all. Beyond that, the
// oldest updates that are not final are dropped first, then refusals of launches, and ends only if
// a scheduler acknowledges nothing.

#include <algorithm>

#include "common/check.h"
#include "common/text.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {

using proto::TaskEvent;
using proto::TaskReason;
using proto::TaskState;
using proto::UpdateSource;

namespace {

bool tells_an_end(const std::vector<KeptUpdate>& pending) {
  return std::any_of(pending.begin(), pending.end(),
                     [](const KeptUpdate& kept) { return proto::is_terminal(kept.state); });
}

}  // namespace

// --- from agents -------------------------------------------------------------------------------

void Master::State::on_update(Agent& agent, proto::Update&& update, Step& step) {
  proto::TaskStatus& status = update.status;
  const TaskKey key{std::move(update.framework), status.task};
  if (status.state == TaskState::kUnreachable || status.state == TaskState::kGone) {
    step.trace(UpdateRefused{agent.id, status.state});
    return end_session(agent.peer,
                       Error::invalid_argument(text("an agent cannot report that a task is ",
                                                    proto::to_text(status.state))),
                       true, step);
  }
  // The agent is stopping, and accepts nothing until it registers again. It then repeats such
  // updates, which are not handled here.
  if (status.reason == TaskReason::kAgentNotAvailable) {
    agent.stopping = true;
    allocator_.set_agent_active(agent.id, false);
  }
  Task* task = tasks_.find(key);
  const bool has_ended = proto::is_terminal(status.state);
  // A stray may still be in the table, as a task whose end is not acknowledged.
  const bool is_stray = agent.strays.contains(key);
  if (task != nullptr && task->agent == agent.id && !is_stray) {
    return take_update(agent, *task, std::move(status), step);
  }
  // No peer waits for it, so the agent may forget it.
  if (status.sequence > 0) acknowledge_to_agent(agent, key, status.sequence, step);
  if (is_stray) {
    if (!has_ended) return;
    release_stray(agent, key);
    if (Framework* framework = frameworks_.find(key.framework)) forget_if_over(*framework);
    return;
  }
  step.trace(UpdateOfUnknownTask{agent.id, key.task});
  if (!has_ended) {
    send(agent.peer, proto::KillTask{.framework = key.framework, .task = key.task, .grace = {}},
         step);
  }
}

void Master::State::take_update(Agent& agent, Task& task, proto::TaskStatus&& status, Step& step) {
  if (status.state == TaskState::kStaging) return still_starting(task, std::move(status), step);
  // The agent's answer to a kill: it never had this task, or has forgotten it. This is not an
  // update of the task, for any sequence number.
  if (status.state == TaskState::kLost && status.reason == TaskReason::kTaskUnknown) {
    if (status.sequence > 0) acknowledge_to_agent(agent, task.key(), status.sequence, step);
    release(task);
    if (task.awaits_start()) on_never_started(agent);
    if (tasks_.move(task, TaskEvent::kLost, step.now)) {
      tell(task, TaskReason::kTaskUnknown, text("agent ", agent.id.str(), " does not know it"),
           step);
      end_if_told(task);
    }
    return;
  }
  if (status.sequence <= task.agent_sequence) {  // Includes zero, which is no sequence number.
    step.trace(UpdateDuplicate{task.key().framework, task.key().task});
    if (status.sequence > 0 && status.sequence <= task.acknowledged) {
      acknowledge_to_agent(agent, task.key(), task.acknowledged, step);
    }
    return;
  }
  if (task.awaits_start()) on_answered(agent, step);
  task.agent_sequence = status.sequence;
  task.spec = {};         // The agent has received it.
  status.labels.clear();  // Stored once per task, for all its updates.
  if (task.ended()) {
    // A scheduler gets only one end. Until it is acknowledged, the agent keeps this one for a
    // master that does not know the first.
    if (tells_an_end(task.pending)) return;
    task.acknowledged = status.sequence;
    return acknowledge_to_agent(agent, task.key(), status.sequence, step);
  }

  const std::optional<TaskEvent> event = proto::event_of(status.state);
  bool moved = event && tasks_.move(task, *event, step.now);
  if (!moved && proto::is_terminal(status.state)) {
    // A refusal after the task ran still ends it. If its scheduler got an unreachable update
    // before, and may have launched a replacement, the task is lost, since it has not failed.
    const bool was_unreachable = task.state == TaskState::kUnreachable;
    status.state = was_unreachable ? TaskState::kLost : TaskState::kFailed;
    moved = tasks_.move(task, *proto::event_of(status.state), step.now);
    CHECK(moved) << to_text(task.key());
  }
  Framework& framework = *frameworks_.find(task.key().framework);
  status.task = task.key().task;
  status.agent = agent.id;
  status.source = UpdateSource::kAgent;
  // The agent only knows that it was asked to kill the task.
  if (status.reason == TaskReason::kKilledByScheduler && task.kill_asked) {
    const KillCause& cause = task.ending->kill_cause;
    status.reason = cause.by;
    if (!cause.why.empty()) {
      status.message = text(cause.why, status.message.empty() ? "" : "; ", status.message)
                           .substr(0, kReasonTextBytesMax);
    }
  }
  if (framework.gone) status.reason = TaskReason::kFrameworkTornDown;
  task.reason = status.reason;
  task.report.set({.message = framework.gone ? task.report->message : status.message,
                   .exit_code = status.exit_code,
                   .signal = status.signal,
                   .usage = status.usage});
  if (status.healthy) task.healthy = status.healthy;
  if (status.ready) task.ready = status.ready;
  if (!task.hidden) {
    step.trace(TaskUpdated{task.key().framework, task.key().task, agent.id, status.state,
                           status.reason, task.text->user, task.ended(), moved});
  }
  if (moved && !task.hidden && status.state == TaskState::kRefused) {
    note_refused(framework, status.task, task.text->ask, status.reason, status.message, step.now);
  }
  if (moved && !task.hidden) framework.failed.note(status, step.now);
  if (task.ended()) release(task);
  if (framework.gone || task.hidden) {
    task.acknowledged = status.sequence;
    acknowledge_to_agent(agent, task.key(), status.sequence, step);
    end_if_told(task);
    return;
  }
  keep_and_send(framework, task, std::move(status), step);
}

void Master::State::acknowledge_to_agent(const Agent& agent, const TaskKey& key, uint64_t sequence,
                                         Step& step) {
  send(agent.peer,
       proto::Acknowledge{.framework = key.framework,
                          .task = key.task,
                          .agent = agent.id,
                          .source = UpdateSource::kAgent,
                          .sequence = sequence},
       step);
}

// --- from the master itself --------------------------------------------------------------------

void Master::State::tell(Task& task, TaskReason reason, std::string message, Step& step) {
  if (task.hidden) return;
  Framework& framework = *frameworks_.find(task.key().framework);
  step.trace(TaskUpdated{task.key().framework, task.key().task, task.agent, task.state, reason,
                         task.text->user, task.ended()});
  if (framework.gone) return;
  task.reason = reason;
  task.report.change([&](TaskReport& report) { report.message = message; });
  keep_and_send(framework, task,
                {.task = task.key().task,
                 .agent = task.agent,
                 .state = task.state,
                 .reason = reason,
                 .source = UpdateSource::kMaster,
                 .sequence = next_sequence(),
                 .message = std::move(message),
                 .data = {},
                 .exit_code = {},
                 .signal = {},
                 .healthy = task.ended() ? std::nullopt : task.healthy,
                 .at = step.now,
                 .ready = task.ended() ? std::nullopt : task.ready},
                step);
}

// Increases over this master and, by the epoch, over all masters.
uint64_t Master::State::next_sequence() {
  return (options_.leader.value() << 40) + ++updates_made_;
}

// --- to schedulers -----------------------------------------------------------------------------

void Master::State::keep_and_send(Framework& framework, Task& task, proto::TaskStatus&& status,
                                  Step& step) {
  if (framework.connected()) send_update(framework, task, status, step);
  task.pending.push_back(kept_of(++updates_kept_, std::move(status)));
  ++unacknowledged_;
  if (task.pending.size() <= kUpdatesPerTaskMax) return;
  // The last update may be the end, so it stays.
  task.pending.erase(task.pending.begin());
  --unacknowledged_;
}

void Master::State::send_update(const Framework& framework, const Task& task,
                                proto::TaskStatus status, Step& step) {
  status.labels = task.text->labels;
  send(framework.peer, proto::Update{.framework = framework.id(), .status = std::move(status)},
       step);
}

// For a scheduler that has reconnected: all unacknowledged updates, in order per source and task.
void Master::State::send_again(Framework& framework, Step& step) {
  for (const Task* task : tasks_.of(framework.id())) {
    for (const KeptUpdate& kept : task->pending) {
      send_update(framework, *task, status_of(kept, *task), step);
    }
  }
  for (const auto& [key, status] : framework.refusals) {
    send(framework.peer, proto::Update{.framework = framework.id(), .status = status}, step);
  }
}

void Master::State::on_acknowledge(Framework& framework, const proto::Acknowledge& message,
                                   Step& step) {
  if (message.source == UpdateSource::kMaster) {
    const auto first = framework.refusals.lower_bound({message.task, 0});
    auto last = first;
    while (last != framework.refusals.end() && last->first.first == message.task &&
           last->first.second <= message.sequence) {
      ++last;
      --unacknowledged_;
    }
    framework.refusals.erase(first, last);
  }
  Task* task = tasks_.find({framework.id(), message.task});
  if (task == nullptr) return;
  bool told_the_end = false;
  const auto acknowledged = [&](const KeptUpdate& kept) {
    if (kept.source != message.source || kept.sequence > message.sequence) return false;
    told_the_end = told_the_end || proto::is_terminal(kept.state);
    return true;
  };
  unacknowledged_ -= std::erase_if(task->pending, acknowledged);
  // Most tasks have no further update until they end.
  if (task->pending.empty()) task->pending.shrink_to_fit();
  if (message.source == UpdateSource::kAgent || told_the_end) {
    const uint64_t sequence =
        told_the_end ? task->agent_sequence : std::min(message.sequence, task->agent_sequence);
    if (sequence > task->acknowledged) {
      task->acknowledged = sequence;
      const Agent* agent = agents_.find(task->agent);
      if (agent != nullptr && agent->connected()) {
        acknowledge_to_agent(*agent, task->key(), sequence, step);
      }
    }
  }
  if (!told_the_end) return;
  remember_end(*task, step);
  end(*task);
}

void Master::State::drop_pending(Task& task) {
  unacknowledged_ -= task.pending.size();
  task.pending.clear();
  task.pending.shrink_to_fit();
}

// Called at the end of a step, when no handler holds a task.
void Master::State::make_room_for_updates(Step& step) {
  if (unacknowledged_ <= kUnacknowledgedMax) return;
  // Drops a tenth at once, so that the cost of the search is shared by many updates.
  const size_t enough = kUnacknowledgedMax - kUnacknowledgedMax / 10;
  const size_t before = unacknowledged_;
  struct Victim {
    bool tells_the_end = false;
    uint64_t number = 0;
    TaskKey key = {};
    auto operator<=>(const Victim&) const = default;
  };
  std::vector<Victim> victims;
  for (const auto& [key, task] : tasks_.all()) {
    for (const KeptUpdate& kept : task.pending) {
      victims.push_back({proto::is_terminal(kept.state), kept.number, key});
    }
  }
  std::sort(victims.begin(), victims.end());
  const auto drop_while = [&](bool ends) {
    for (const Victim& victim : victims) {
      if (unacknowledged_ <= enough) return;
      if (victim.tells_the_end != ends) continue;
      Task* task = tasks_.find(victim.key);
      if (task == nullptr) continue;  // Its end was dropped.
      unacknowledged_ -= std::erase_if(
          task->pending, [&](const KeptUpdate& kept) { return kept.number == victim.number; });
      if (!ends) continue;
      remember_end(*task, step);
      end(*task);
    }
  };
  drop_while(false);
  for (auto& [id, framework] : frameworks_.all()) {
    while (unacknowledged_ > enough && !framework.refusals.empty()) {
      framework.refusals.erase(framework.refusals.begin());
      --unacknowledged_;
    }
  }
  drop_while(true);
  step.trace(UpdatesDropped{before - unacknowledged_});
}

// --- the end of a task's life ------------------------------------------------------------------

void Master::State::end(Task& task) {
  if (task.hidden) return forget(task);
  keep_ended(task);
  drop_pending(task);
  unmark(task);
  if (Agent* agent = agents_.find(task.agent)) agent->tasks.erase(task);
  Framework& framework = *frameworks_.find(task.key().framework);
  --framework.tasks;
  tasks_.end(task);
  forget_if_over(framework);
}

void Master::State::end_if_told(Task& task) {
  if (!task.ended()) return;
  if (!task.hidden && !frameworks_.find(task.key().framework)->gone) return;
  release(task);
  end(task);
}

}  // namespace proffer::master
