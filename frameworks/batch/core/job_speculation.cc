// Second attempts at tasks that would delay their job (stragglers.h). When no task of a kind waits
// for an agent, and then every second, look_for_stragglers compares the running ones. Slow tasks
// have their own ask. The first attempt that finishes counts.

#include <algorithm>

#include "common/text.h"
#include "frameworks/batch/core/job_state.h"

namespace proffer::batch {

// The next time at which running tasks must be compared, if any.
void Job::State::plan_look(Time now) {
  for (const TaskKind kind : kSpeculated) {
    Speculation& speculation = speculation_of(kind);
    if (!may_speculate(kind)) {
      speculation.look_at.reset();
      speculation.wanted.clear();
    } else if (!speculation.look_at) {
      speculation.look_at = std::max(now, speculation.may_look_at);
    }
  }
}

bool Job::State::may_speculate(TaskKind kind) const {
  const Stage& tasks = stage(kind);
  if (kind == TaskKind::kEnd) return !is_over_ && commits() && tasks.running() > 0;
  const bool can_compare = tasks.running() > 1 || !speculation_of(kind).times.newest().empty();
  return order().speculates && !outcome_ && tasks.running() > 0 && can_compare &&
         tasks.pending().empty() && tasks.elsewhere().empty();
}

void Job::State::look_for_stragglers(TaskKind kind, Time now) {
  Speculation& speculation = speculation_of(kind);
  if (!speculation.look_at || *speculation.look_at > now) return;
  speculation.look_at.reset();
  speculation.wanted.clear();
  if (!may_speculate(kind)) return;
  speculation.may_look_at = now + kStragglersEvery;
  const Stage& tasks = stage(kind);
  std::vector<RunningTask> running;
  for (const auto& [id, attempt] : attempts_) {
    if (attempt.kind != kind || attempt.given_up || tasks.task(attempt.number).active != id) {
      continue;
    }
    RunningTask task{.number = attempt.number,
                     .age = now - attempt.since,
                     .done = attempt.done,
                     .has_copy = !tasks.task(attempt.number).copy.empty()};
    if (attempt.told_at) task.told_ago = now - *attempt.told_at;
    running.push_back(task);
  }
  speculation.wanted = slow_tasks(kind, running);
}

std::vector<uint32_t> Job::State::slow_tasks(TaskKind kind,
                                             const std::vector<RunningTask>& running) const {
  if (kind != TaskKind::kEnd) return stragglers(running, speculation_of(kind).times);
  std::vector<uint32_t> slow;
  for (const RunningTask& task : running) {
    // Copies that all fail do not help.
    const bool may_fail = end_.task(task.number).failures < allowed_failures_of_end();
    if (!task.has_copy && task.age >= kEndStragglerAge && may_fail) slow.push_back(task.number);
  }
  return slow;
}

std::vector<uint32_t> Job::State::wanted_copies(TaskKind kind) const {
  std::vector<uint32_t> wanted;
  if (!may_speculate(kind)) return wanted;
  const Stage& tasks = stage(kind);
  const size_t max = copies_max(tasks.running());
  for (const uint32_t number : speculation_of(kind).wanted) {
    if (tasks.copies() + wanted.size() >= max) break;
    const JobTask& task = tasks.task(number);
    // A task with so many attempts gets no copy, so that its numbers are not used up.
    if (task.state != JobTask::State::kRunning || !task.copy.empty() ||
        task.launches >= kAttemptsPerLife / 2) {
      continue;
    }
    wanted.push_back(number);
  }
  return wanted;
}

std::optional<uint32_t> Job::State::pick_copy(TaskKind kind, const AgentId& agent) const {
  for (const uint32_t number : wanted_copies(kind)) {
    if (agent_of_active(kind, number) != agent) return number;
  }
  return std::nullopt;
}

const AgentId& Job::State::agent_of_active(TaskKind kind, uint32_t number) const {
  return attempts_.at(stage(kind).task(number).active).agent;
}

// Progress of an attempt that is unknown or no longer counts is ignored.
void Job::State::on_progress(const TaskName& name, std::string_view bytes, Time now) {
  const auto found = attempts_.find(to_task_id(name));
  const Result<TaskProgress> progress = decode_progress(bytes);
  if (found == attempts_.end() || !progress) return;
  if (name.kind == TaskKind::kMap) {  // reduces report only a status
    found->second.done = progress->done;
    found->second.told_at = now;
  }
  if (progress->status.empty()) return;
  task_status_ = printable_tail(
      text(found->first.str().substr(options_.id.str().size() + 1), ": ", progress->status),
      kTaskStatusBytesMax + kNameBytesMax);
}

}  // namespace proffer::batch
