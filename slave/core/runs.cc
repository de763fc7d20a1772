// The runs that live in the process of an executor, as the executor reports them. The checkpoint
// may have lost records that an earlier life acted on, but the executor has not. Its hello contains
// its run, its live tasks and those that have ended. Read standing_of first, then
// end_forgotten_run.

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/text.h"
#include "slave/core/state.h"
#include "slave/core/trace.h"

namespace proffer::agent {
namespace {

// The time that unrecorded tasks of a shared executor have to end.
constexpr Duration kForgottenGrace = seconds(5);

}  // namespace

// An executor that does not report its run matches the recorded run only if it has the same name.
Agent::State::Standing Agent::State::standing_of(const ExecutorKey& key,
                                                 const LiveExecutor& executor,
                                                 const proto::ExecutorHello& hello) const {
  if (!executor.own) return Standing::kSame;
  const auto is_foreign = [&](const proto::ExecutorRun& run) {
    const bool is_its = run.run == 0 || run.run == executor.run;
    return !run.ended && !(is_its && executor.tasks.contains(run.task));
  };
  const bool any_foreign = std::any_of(hello.runs.begin(), hello.runs.end(), is_foreign);
  if (any_foreign || hello.run > executor.run) return Standing::kBeyond;
  if (hello.run == executor.run) return Standing::kSame;
  if (hello.run != 0) return Standing::kBehind;
  if (hello.executor == key.second) return Standing::kSame;
  const bool is_fresh = hello.tells_runs && hello.runs.empty();
  return is_fresh ? Standing::kBehind : Standing::kBeyond;
}

// The master must not repeat messages that this agent may have got before. The number changes each
// time, since a log that is cut again after this record has the old number.
void Agent::State::note_loss(Step& step) {
  if (std::exchange(has_noted_loss_, true)) return;
  proto::AgentIdentity identity = *ledger_.identity();
  identity.memory = fresh_memory(identity.memory);
  record(std::move(identity), step);
}

void Agent::State::told_of_loss(const ExecutorKey& key, Step& step) {
  step.trace(CheckpointForgot{{key.first, key.second}});
  note_loss(step);
}

// FNV-1a of values that differ in each life.
uint32_t Agent::State::fresh_memory(uint32_t before) const {
  uint32_t hash = 0x811C9DC5u ^ before;
  for (const char c : options_.fresh_secret.str()) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193u;
  }
  return hash == before || hash == 0 ? before + 1 : hash;
}

// A process whose record is of an earlier run only: the task of that run has ended, as the process
// reports. Its present task has no record, so its resources are unknown. It is killed before the
// agent registers.
void Agent::State::end_forgotten_run(const ExecutorKey& key, const proto::ExecutorHello& hello,
                                     Step& step) {
  told_of_loss(key, step);
  LiveExecutor& executor = executors_.at(key);
  for (const TaskId& task : std::set<TaskId>(executor.tasks)) {
    const auto told =
        std::find_if(hello.runs.begin(), hello.runs.end(), [&](const proto::ExecutorRun& run) {
          return run.task == task && run.run == executor.run && run.ended && run.status &&
                 proto::is_terminal(run.status->state);
        });
    proto::TaskStatus status{.state = proto::TaskState::kLost,
                             .reason = proto::TaskReason::kExecutorEnded,
                             .message =
                                 "its executor has run another task since; its end was lost with a "
                                 "part of the agent's checkpoint"};
    uint64_t sequence = 0;
    if (told != hello.runs.end()) {
      status = what_is_told(*told->status);
      sequence = told->acknowledged;
    }
    take_end(key, task, std::move(status), sequence, step);
  }
  if (executor.peer) drop_peer(key, step);
  executor.is_forgotten = true;
  if (!recovered_) awaited_.insert(key);
  kill_executor(key, step);
}

void Agent::State::take_end(const ExecutorKey& key, const TaskId& task, proto::TaskStatus status,
                            uint64_t executor_sequence, Step& step) {
  const TaskKey task_key{key.first, task};
  // The executor reports an end that was acknowledged before, so no kill of this life caused it.
  if (status.state == proto::TaskState::kLost) say_why_killed(task_key, status);
  const uint64_t skipped = skipped_after(ledger_.find(task_key)->sequence, step.now);
  CHECK(make_update(task_key, std::move(status), step, executor_sequence, skipped));
  executors_.at(key).tasks.erase(task);
  task_ended(task_key, step);
}

// The part of an executor's update that the agent forwards.
proto::TaskStatus Agent::State::what_is_told(const proto::TaskStatus& told) {
  return {.state = told.state,
          .reason = told.reason,
          .message = told.message,
          .data = told.data,
          .exit_code = told.exit_code,
          .signal = told.signal,
          .healthy = told.healthy,
          .ready = told.ready};
}

// For updates of its tasks that an earlier life acknowledged and whose records are lost: the last
// one is recorded again, with a number after those that may have been used.
void Agent::State::take_forgotten_updates(const ExecutorKey& key, const proto::ExecutorHello& hello,
                                          Step& step) {
  LiveExecutor& executor = executors_.at(key);
  if (!executor.away) return;
  for (const proto::ExecutorRun& run : hello.runs) {
    const auto live = live_.find({key.first, run.task});
    if (live == live_.end() || !executor.tasks.contains(run.task)) continue;
    if (run.acknowledged <= live->second.executor_sequence) continue;
    told_of_loss(key, step);
    const bool is_known = run.status && is_executors_word(run.status->state);
    if (run.ended && is_known && proto::is_terminal(run.status->state)) {
      live->second.executor_sequence = run.acknowledged;
      take_end(key, run.task, what_is_told(*run.status), run.acknowledged, step);
      if (executor.own) shut_down(key, kLeaveGrace, step);
      continue;
    }
    live->second.skipped = skipped_after(ledger_.find({key.first, run.task})->sequence, step.now);
    // An end that this agent has not acknowledged, or that the hello has no room for, is in the
    // executor's next message.
    if (!is_known) continue;
    live->second.executor_sequence = run.acknowledged;
    make_update({key.first, run.task}, what_is_told(*run.status), step, run.acknowledged);
  }
}

// Kills the unrecorded tasks of a shared executor. The agent waits until they have ended, and after
// a timeout kills the executor.
void Agent::State::end_forgotten_tasks(const ExecutorKey& key, const proto::ExecutorHello& hello,
                                       Step& step) {
  LiveExecutor& executor = executors_.at(key);
  executor.forgotten.clear();
  if (executor.own) return;
  for (const proto::ExecutorRun& run : hello.runs) {
    if (run.ended || executor.tasks.contains(run.task)) continue;
    executor.forgotten.insert(run.task);
    send_to_executor(executor, proto::KillTask{key.first, run.task, Duration()}, step);
  }
  if (executor.forgotten.empty()) return;
  told_of_loss(key, step);
  deadlines_.arm({Deadline::Kind::kExecutorKill, key.first, key.second.str()},
                 step.now + kForgottenGrace);
}

void Agent::State::forgotten_task_ended(const ExecutorKey& key, const TaskId& task, Step& step) {
  LiveExecutor& executor = executors_.at(key);
  if (executor.forgotten.erase(task) == 0 || !executor.forgotten.empty()) return;
  if (!executor.leaving) {
    deadlines_.cancel({Deadline::Kind::kExecutorKill, key.first, key.second.str()});
  }
  executor_is_back(key, step);
}

// Two records of one process: a part of the log is there twice, or the record of the earlier run's
// end was lost. The process is in the later run.
void Agent::State::forget_earlier_runs(Step& step) {
  std::map<Secret, std::pair<uint64_t, ExecutorKey>> latest;
  std::vector<ExecutorKey> earlier;
  for (const auto& [key, executor] : ledger_.executors()) {
    if (executor.token.empty() || executor.leftover) continue;
    const auto [at, is_new] = latest.try_emplace(executor.token, executor.run, key);
    if (is_new) continue;
    std::pair<uint64_t, ExecutorKey> other(executor.run, key);
    if (executor.run > at->second.first) std::swap(at->second, other);
    earlier.push_back(std::move(other.second));
  }
  for (const ExecutorKey& key : earlier) {
    note_loss(step);
    record(proto::ExecutorGone{key.first, key.second}, step);
  }
}

}  // namespace proffer::agent
