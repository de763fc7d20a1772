// Tasks that were sent to an agent and are not reported by it. After a timeout they are lost, and
// the agent must kill them. Begin with on_starts_due. An agent repeatedly reports that a task is
// still being started (fetching files may take an hour), so the timeout applies only to silence.

#include "master/core/starts.h"

#include <algorithm>

#include "common/load_limits.h"
#include "common/text.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {

bool Starts::note_missed(Duration timeout, Time now) {
  ++missed_;
  is_tried_ = false;
  if (missed_ < kMissedStartsMax || until_) return false;
  const int64_t times =
      std::min(int64_t{1} << std::min<int64_t>(pauses_, 10), kMissedStartsPauseMax);
  ++pauses_;
  until_ = now + timeout * times;
  why_ = text("it did not report the last ", missed_, " tasks launched on it, for ",
              to_text(timeout), " each; the next attempt is after ", to_text(timeout * times));
  return true;
}

bool Starts::note_answered() {
  const bool was_closed = is_closed();
  *this = Starts();
  return was_closed;
}

void Starts::end_pause() {
  until_.reset();
  is_on_trial_ = true;
}

bool Starts::note_launched() {
  if (!is_on_trial_ || is_tried_ || until_) return false;
  is_tried_ = true;
  why_ = "it gets one task as a trial, because it did not report earlier tasks";
  return true;
}

// An agent has one deadline for all its tasks. It is checked when it comes up, since most tasks
// start long before.
void Master::State::watch_starts(Agent& agent, Step& step) {
  if (agent.starts_watched) return;
  agent.starts_watched = true;
  deadlines_.arm({.kind = DeadlineKind::kStarts, .peer = {}, .id = agent.id.str()},
                 step.now + options_.task_start_timeout);
}

void Master::State::await_start(Agent& agent, Task& task, Step& step) {
  task.awaited_since = step.now;
  if (!task.awaits_start()) return;
  watch_starts(agent, step);
  if (agent.starts.note_launched()) allocator_.set_agent_draining(agent.id, true);
}

// A report without a sequence: it is neither kept nor acknowledged.
void Master::State::still_starting(Task& task, proto::TaskStatus&& word, Step& step) {
  if (!task.awaits_start()) return;
  task.spec = {};  // The agent has received it.
  task.awaited_since = step.now;
  if (frameworks_.find(task.key().framework)->gone) return;
  task.report.change([&](TaskReport& report) { report.message = std::move(word.message); });
}

void Master::State::on_starts_due(Agent& agent, Step& step) {
  agent.starts_watched = false;
  if (!agent.connected()) return;  // Its tasks are compared again when it is back.
  std::vector<Task*> missed;
  std::optional<Time> next;
  for (Task* task : agent.tasks) {
    if (!task->awaits_start() || task->hidden) continue;
    const Time due = task->awaited_since + options_.task_start_timeout;
    if (due <= step.now) {
      missed.push_back(task);
    } else if (!next || due < *next) {
      next = due;
    }
  }
  if (next) {
    agent.starts_watched = true;
    deadlines_.arm({.kind = DeadlineKind::kStarts, .peer = {}, .id = agent.id.str()}, *next);
  }
  for (Task* task : missed) give_up_start(agent, *task, step);
}

// It may still start, so it counts as a stray until the agent reports its end.
void Master::State::give_up_start(Agent& agent, Task& task, Step& step) {
  const TaskKey key = task.key();
  if (task.held) {
    agent.strays[key] = Stray{.resources = task.allotment->resources, .claim = task.claim()};
    task.held = false;
    count_use(task, false);
  }
  tasks_.move(task, proto::TaskEvent::kLost, step.now);
  send(agent.peer, proto::KillTask{.framework = key.framework, .task = key.task, .grace = {}},
       step);
  tell(task, proto::TaskReason::kNotStarted,
       text("agent ", agent.id.str(), " received the task and did not report it for ",
            to_text(options_.task_start_timeout)),
       step);
  end_if_told(task);
  if (!agent.starts.note_missed(options_.task_start_timeout, step.now)) return;
  allocator_.set_agent_draining(agent.id, true);
  deadlines_.arm({.kind = DeadlineKind::kStartsPause, .peer = {}, .id = agent.id.str()},
                 *agent.starts.until());
  step.trace(AgentTakesNoTasks{agent.id, std::string(agent.starts.why())});
}

// The agent reported a state of a task that was sent to it.
void Master::State::on_answered(Agent& agent, Step& step) {
  if (!agent.starts.note_answered()) return;
  deadlines_.cancel({.kind = DeadlineKind::kStartsPause, .peer = {}, .id = agent.id.str()});
  allocator_.set_agent_draining(agent.id, agent.is_closed());
  step.trace(AgentTakesTasksAgain{agent.id, agent.trouble});
}

// A task that ended without a report of the agent may have been the trial task.
void Master::State::on_never_started(Agent& agent) {
  agent.starts.end_trial();
  allocator_.set_agent_draining(agent.id, agent.is_closed());
}

void Master::State::try_again(Agent& agent, Step& step) {
  agent.starts.end_pause();
  if (agent.allocatable) allocator_.set_agent_draining(agent.id, agent.is_closed());
  step.trace(AgentTriedAgain{agent.id});
}

}  // namespace proffer::master
