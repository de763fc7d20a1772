// Tasks that an agent takes and says nothing of: they are lost after a time, wanted elsewhere, and
// the agent is told to kill them. Begin with on_starts_due. An agent says now and then that a task
// is still being started (files may take an hour), so it is the silent one that is given up on.

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

// One deadline for all tasks of an agent, which is looked at again when it comes up: most tasks are
// started long before it.
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

// The agent's word, which has no number: it is neither kept nor acknowledged.
void Master::State::still_starting(Task& task, proto::TaskStatus&& word, Step& step) {
  if (!task.awaits_start()) return;
  task.spec = {};  // It was received.
  task.awaited_since = step.now;
  if (frameworks_.find(task.key().framework)->gone) return;
  task.report.change([&](TaskReport& report) { report.message = std::move(word.message); });
}

void Master::State::on_starts_due(Agent& agent, Step& step) {
  agent.starts_watched = false;
  if (!agent.connected()) return;  // Its tasks are told anew when it is back.
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

// It may still be started: until the agent says that it has ended it counts, as what runs against
// our will.
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

// It told a state of a task that it was given.
void Master::State::on_answered(Agent& agent, Step& step) {
  if (!agent.starts.note_answered()) return;
  deadlines_.cancel({.kind = DeadlineKind::kStartsPause, .peer = {}, .id = agent.id.str()});
  allocator_.set_agent_draining(agent.id, agent.is_closed());
  step.trace(AgentTakesTasksAgain{agent.id, agent.trouble});
}

// A task that is over without a word of the agent may have been the one that it is tried with.
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
