// Ends tasks: first their executor is asked, with a grace period; then processes are killed. Used
// for single tasks, for a framework that was torn down, and for all tasks when the agent stops.

#include <algorithm>

#include "common/check.h"
#include "common/text.h"
#include "slave/core/state.h"
#include "slave/core/trace.h"

namespace proffer::agent {
namespace {

// From the time when an executor has a command until it reports it as running; after that, a
// command that has stopped its executor would never meet its maximum run time.
constexpr Duration kStartAllowance = seconds(10);

// A task above its limit has failed; others were killed on request.
proto::TaskState state_of(proto::TaskReason reason) {
  return reason == proto::TaskReason::kOutOfDisk ? proto::TaskState::kFailed
                                                 : proto::TaskState::kKilled;
}

}  // namespace

void Agent::State::on_kill_task(const proto::KillTask& kill, Step& step) {
  const TaskKey key{kill.framework, kill.task};
  const TaskEntry* task = ledger_.find(key);
  if (task == nullptr) {
    // Without a sequence, since no update is kept that could be acknowledged.
    return send_to_master(proto::Update{kill.framework,
                                        {.task = kill.task,
                                         .agent = options_.name,
                                         .state = proto::TaskState::kLost,
                                         .reason = proto::TaskReason::kTaskUnknown,
                                         .source = proto::UpdateSource::kAgent,
                                         .sequence = 0,
                                         .message = "the agent does not know the task",
                                         .at = step.now}},
                          step);
  }
  if (!task->is_live()) {
    return step.trace(KillOfEndedTask{{key.first, key.second}});
  }
  kill_task(key,
            {.grace = kill.grace.value_or(task->record.spec.kill_grace),
             .reason = proto::TaskReason::kKilledByScheduler},
            step);
}

// A task that no executor has got ends at once. Otherwise its executor ends it, and kill_overdue
// handles executors that do not. If it is asked again, the shorter time and the first reason count.
void Agent::State::kill_task(const TaskKey& key, Kill kill, Step& step) {
  LiveTask& live = live_.at(key);
  const ExecutorKey executor_key{key.first, ledger_.find(key)->record.executor};
  LiveExecutor& executor = executors_.at(executor_key);
  if (!live.delivered) {
    executor.tasks.erase(key.second);
    std::erase(executor.waiting, key.second);
    CHECK(make_update(key,
                      {.state = state_of(kill.reason),
                       .reason = kill.reason,
                       .message = kill.words.empty() ? "killed before it was started" : kill.words},
                      step));
    task_ended(key, step);
    if (executor.own && executor.tasks.empty() && !executor.leaving) {
      executor.leaving = true;
      kill_executor(executor_key, step);
    }
    return;
  }
  const Duration grace = kill.grace;
  if (!live.kill) live.kill = std::move(kill);
  live.kill->grace = std::min(live.kill->grace, grace);
  if (executor.peer) {
    send_to_executor(executor, proto::KillTask{key.first, key.second, live.kill->grace}, step);
  }
  const Deadline deadline{Deadline::Kind::kTaskKill, key.first, key.second.str()};
  const Time due = step.now + live.kill->grace + kKillMargin;
  deadlines_.arm(deadline, std::min(due, deadlines_.time_of(deadline).value_or(due)));
}

// A shared executor has other tasks to run, so the overdue kill is only reported.
void Agent::State::kill_overdue(const TaskKey& key, Step& step) {
  const ExecutorKey executor_key{key.first, ledger_.find(key)->record.executor};
  step.trace(TaskOutlivesItsKill{{key.first, key.second}});
  if (executors_.at(executor_key).own) kill_executor(executor_key, step);
}

// The time counts from the task's start, also across restarts of the agent.
void Agent::State::bound_run(const TaskKey& key, const TaskEntry& task) {
  const Duration most = task.record.spec.max_run_time;
  if (most <= Duration() || task.started_at == Time()) return;
  deadlines_.arm({Deadline::Kind::kTaskRun, key.first, key.second.str()}, task.started_at + most);
}

// A command without init steps starts as soon as its executor has it.
void Agent::State::bound_start(const TaskKey& key, const TaskEntry& task, Step& step) {
  const proto::TaskSpec& spec = task.record.spec;
  const bool starts_at_once = spec.executor == proto::kCommandExecutor && spec.data.empty();
  if (!starts_at_once || spec.max_run_time <= Duration() || task.started_at != Time()) return;
  deadlines_.arm({Deadline::Kind::kTaskRun, key.first, key.second.str()},
                 step.now + spec.max_run_time + kStartAllowance);
}

void Agent::State::run_overdue(const TaskKey& key, Step& step) {
  const TaskEntry* task = ledger_.find(key);
  CHECK(task != nullptr && task->is_live()) << "a task that ended has no time to run";
  step.trace(TaskRanTooLong{{key.first, key.second}});
  kill_task(key,
            {.grace = task->record.spec.kill_grace,
             .reason = proto::TaskReason::kRanTooLong,
             .words = text("it ran for ", to_text(task->record.spec.max_run_time),
                           ", its maximum run time")},
            step);
}

// Without a grace period, in which the task would use more of the disk. It may have ended
// meanwhile.
void Agent::State::on(const OutOfDisk& over, Step& step) {
  const TaskKey key{over.framework, over.task};
  const TaskEntry* task = ledger_.find(key);
  if (task == nullptr || !task->is_live() || task->record.run != over.run) return;
  step.trace(TaskHoldsTooMuchDisk{{key.first, key.second}});
  kill_task(key,
            {.reason = proto::TaskReason::kOutOfDisk,
             .words = text("its sandbox holds ", mebibytes(over.bytes), ", and the maximum is ",
                           mebibytes(over.limit_bytes))},
            step);
}

// For a task that the agent ended, the agent's reason is reported, not the executor's.
void Agent::State::say_why_killed(const TaskKey& key, proto::TaskStatus& status) const {
  const std::optional<Kill>& kill = live_.at(key).kill;
  if (!kill) return;
  status.state = state_of(kill->reason);
  status.reason = kill->reason;
  if (kill->words.empty()) return;
  status.message = text(kill->words, status.message.empty() ? "" : ": ", status.message);
}

// Common work at the end of each task, for any cause; the caller handles its executor.
void Agent::State::task_ended(const TaskKey& key, Step& step) {
  live_.erase(key);
  for (const Deadline::Kind kind : {Deadline::Kind::kTaskKill, Deadline::Kind::kTaskRun}) {
    deadlines_.cancel({kind, key.first, key.second.str()});
  }
  offer_less(step);
}

void Agent::State::on_shutdown_framework(const FrameworkId& framework, Step& step) {
  step.trace(FrameworkShutDown{framework});
  std::vector<std::pair<TaskKey, Duration>> tasks;
  for (auto at = live_.lower_bound({framework, TaskId()});
       at != live_.end() && at->first.first == framework; ++at) {
    tasks.emplace_back(at->first, ledger_.find(at->first)->record.spec.kill_grace);
  }
  Duration longest = Duration();
  for (const auto& [key, grace] : tasks) {
    longest = std::max(longest, grace);
    kill_task(key, {.grace = grace, .reason = proto::TaskReason::kFrameworkTornDown}, step);
  }
  std::vector<ExecutorKey> idle;  // or with tasks that share them
  for (auto at = executors_.lower_bound({framework, ExecutorId()});
       at != executors_.end() && at->first.first == framework; ++at) {
    if (!at->second.own || at->second.spare) idle.push_back(at->first);
  }
  for (const ExecutorKey& key : idle) shut_down(key, longest + kKillMargin, step);
}

// Asks an executor to end its tasks and exit; it is killed after `grace`.
void Agent::State::shut_down(const ExecutorKey& key, Duration grace, Step& step) {
  LiveExecutor& executor = executors_.at(key);
  executor.leaving = true;
  forget_spare(key);
  if (!executor.peer && executor.tasks.empty()) return kill_executor(key, step);
  if (!executor.shutdown && executor.peer) {
    send_to_executor(executor, proto::ExecutorShutdown{}, step);
  }
  executor.shutdown = true;
  const Deadline deadline{Deadline::Kind::kExecutorKill, key.first, key.second.str()};
  const Time due = step.now + grace;
  deadlines_.arm(deadline, std::min(due, deadlines_.time_of(deadline).value_or(due)));
}

void Agent::State::kill_executor(const ExecutorKey& key, Step& step) {
  LiveExecutor& executor = executors_.at(key);
  executor.leaving = true;
  forget_spare(key);
  for (const Deadline::Kind kind :
       {Deadline::Kind::kExecutorKill, Deadline::Kind::kExecutorSession, Deadline::Kind::kFetch}) {
    deadlines_.cancel({kind, key.first, key.second.str()});
  }
  if (executor.killed) return;
  executor.killed = true;
  step.trace(ExecutorKilled{{key.first, key.second}});
  step.out.actions.push_back(KillExecutor{key.first, key.second, executor.run});
}

void Agent::State::on(const StopAsked& stop, Step& step) {
  step.trace(AgentStops{options_.name, ledger_.live_tasks()});
  if (!stop.kill_tasks) {
    leaving_ = true;
    for (const ExecutorKey& key : executors_without_tasks()) kill_executor(key, step);
    return;
  }
  end_all_tasks(step);
}

void Agent::State::end_all_tasks(Step& step) {
  if (stopping_) return;
  stopping_ = true;
  std::vector<TaskKey> tasks;
  for (const auto& [key, live] : live_) tasks.push_back(key);
  for (const TaskKey& key : tasks) {
    const Duration grace = std::min(ledger_.find(key)->record.spec.kill_grace, kKillGrace);
    kill_task(key, {.grace = grace, .reason = proto::TaskReason::kKilledByOperator}, step);
  }
  std::vector<ExecutorKey> executors;
  for (const auto& [key, executor] : executors_) {
    if (!executor.killed) executors.push_back(key);
  }
  for (const ExecutorKey& key : executors) shut_down(key, kKillGrace, step);
}

std::vector<ExecutorKey> Agent::State::executors_without_tasks() const {
  std::vector<ExecutorKey> found;
  for (const auto& [key, executor] : executors_) {
    if (executor.leaving && executor.tasks.empty()) found.push_back(key);
  }
  return found;
}

// Its tasks continue in its next life. Executors without tasks would wait in vain.
void Agent::State::finish_leaving(Step& step) {
  if (ended_ || !executors_without_tasks().empty()) return;
  ended_ = true;
  step.out.actions.emplace_back(Exit{});
}

// No task runs any more, so the master may forget this agent at once, without its timeout.
void Agent::State::finish_stop(Step& step) {
  if (ended_ || !recovered_ || !live_.empty() || !executors_.empty()) return;
  if (session_ == Session::kRegistered) send_to_master(proto::UnregisterAgent{}, step);
  ended_ = true;
  step.out.actions.emplace_back(Exit{ends_since_});
}

}  // namespace proffer::agent
