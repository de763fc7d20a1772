// A command executor whose task has ended stays briefly as a spare: the next task of its framework
// and user needs no new process. The spare gets another executor id, run and sandbox, and keeps its
// token, its process and its connection. Read keep_as_spare, then take_over.

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "slave/core/state.h"
#include "slave/core/trace.h"

namespace proffer::agent {
namespace {

// The time for which a spare waits for its next task.
constexpr Duration kSpareFor = seconds(1);
constexpr size_t kSparesMax = 64;

}  // namespace

void Agent::State::keep_as_spare(const ExecutorKey& key, Step& step) {
  LiveExecutor& executor = executors_.at(key);
  CHECK(executor.leaving && executor.peer && executor.tasks.empty());
  if (spares_.size() >= kSparesMax) end_spare(ExecutorKey(spares_.front()), step);
  executor.spare = true;
  spares_.push_back(key);
  deadlines_.arm({Deadline::Kind::kSpare, key.first, key.second.str()}, step.now + kSpareFor);
}

void Agent::State::end_spare(const ExecutorKey& key, Step& step) {
  shut_down(key, kLeaveGrace, step);
}

void Agent::State::forget_spare(const ExecutorKey& key) {
  if (!std::exchange(executors_.at(key).spare, false)) return;
  std::erase(spares_, key);
  deadlines_.cancel({Deadline::Kind::kSpare, key.first, key.second.str()});
}

// The newest spare, whose data is still in the processor's caches. O(spares).
std::optional<ExecutorKey> Agent::State::spare_for(const FrameworkId& framework,
                                                   const LiveExecutor& executor) const {
  if (!executor.own || executor.program != proto::kCommandExecutor || executor.fetching) {
    return std::nullopt;
  }
  const auto at = std::find_if(spares_.rbegin(), spares_.rend(), [&](const ExecutorKey& spare) {
    return spare.first == framework && is_same_user(executors_.at(spare).user, executor.user);
  });
  return at == spares_.rend() ? std::nullopt : std::optional(*at);
}

// `executor` is another run, not recorded yet. Its process is known from the start, so a restarted
// agent finds it by its pid; whether it continues is known when it has "started".
proto::ExecutorRecord Agent::State::take_over(const ExecutorKey& spare, const ExecutorKey& key,
                                              LiveExecutor& executor, Step& step) {
  forget_spare(spare);
  const auto at = executors_.find(spare);
  proto::ExecutorRecord was = ledger_.executors().at(spare);
  executor.token = at->second.token;
  executor.pid = at->second.pid;
  executor.start_ticks = at->second.start_ticks;
  executor.peer = at->second.peer;
  executor.channel = at->second.channel;
  executor.sessions = at->second.sessions;
  executor.last_sent = at->second.last_sent;
  executor.last_heard = at->second.last_heard;
  executor.moving = true;
  peers_[*executor.peer] = key;
  executors_.erase(at);
  for (const Deadline::Kind kind :
       {Deadline::Kind::kExecutorPulse, Deadline::Kind::kExecutorSession}) {
    deadlines_.cancel({kind, spare.first, spare.second.str()});
  }
  record(proto::ExecutorGone{spare.first, spare.second}, step);
  step.trace(ExecutorTakesAnotherTask{key.first, key.second, spare.second, executor.run});
  return was;
}

// The record that the new run has no process is written before the spare is killed. Otherwise an
// agent that found the recorded process ended could not know that it never began the task.
void Agent::State::on(const SpareRefused& refused, Step& step) {
  LiveExecutor* const executor = find_run(refused.framework, refused.executor, refused.run);
  if (executor == nullptr) {
    step.out.actions.push_back(
        KillExecutor{refused.framework, refused.spare.executor, refused.spare.run});
    return;
  }
  const ExecutorKey key{refused.framework, refused.executor};
  proto::ExecutorRecord known = ledger_.executors().at(key);
  known.pid = executor->pid = 0;
  known.start_ticks = executor->start_ticks = 0;
  record(std::move(known), step);
  // A run that was killed meanwhile is not started.
  if (executor->killed || executor->tasks.empty()) {
    step.out.actions.push_back(
        KillExecutor{refused.framework, refused.spare.executor, refused.spare.run});
    return executor_gone(key, proto::TaskReason::kExecutorEnded, "it was killed before it began",
                         {}, step);
  }
  start_process(key, *executor, std::nullopt, refused.spare, step);
}

// If it is the same process, it has the new run's sandbox and group; a new process sends its hello.
void Agent::State::moved(const ExecutorKey& key, bool is_same_process, Step& step) {
  LiveExecutor& executor = executors_.at(key);
  executor.moving = false;
  if (!is_same_process) {
    executor.sessions = 0;
    if (executor.peer) drop_peer(key, step);
    return;
  }
  // Without a connection it returns under its former name (executor_with_token).
  if (!executor.peer || executor.killed) return;
  deadlines_.cancel({Deadline::Kind::kExecutorSession, key.first, key.second.str()});
  for (const TaskId& task : executor.tasks) deliver(key, executor, task, step, true);
  executor_pulse(key, step);
}

// An executor may have been renamed before it got the message. O(executors of the framework).
std::optional<ExecutorKey> Agent::State::executor_with_token(const FrameworkId& framework,
                                                             const Secret& token) const {
  for (auto at = executors_.lower_bound({framework, ExecutorId()});
       at != executors_.end() && at->first.first == framework; ++at) {
    const LiveExecutor& executor = at->second;
    const bool may_move = executor.own && executor.program == proto::kCommandExecutor;
    if (may_move && executor.token == token) return at->first;
  }
  return std::nullopt;
}

}  // namespace proffer::agent
