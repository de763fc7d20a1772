#include "slave/shell/runs_in_use.h"

#include <utility>

#include "proto/task_state.h"

namespace proffer::agent {

void RunsInUse::follow(const proto::CheckpointRecord& record) {
  const std::lock_guard lock(mutex_);
  if (const auto* executor = std::get_if<proto::ExecutorRecord>(&record)) {
    const Name name(executor->framework.str(), executor->executor.str());
    const RunKey run{name.first, name.second, executor->run};
    RunKey& known = executors_[name];
    if (known == run) return;  // It has started.
    if (known.run != 0) {
      of_executors_.erase(known);
      leave(known);
    }
    known = run;
    of_executors_.insert(run);
    use(run);
  } else if (const auto* gone = std::get_if<proto::ExecutorGone>(&record)) {
    const auto at = executors_.find({gone->framework.str(), gone->executor.str()});
    if (at == executors_.end()) return;
    of_executors_.erase(at->second);
    leave(at->second);
    executors_.erase(at);
  } else if (const auto* task = std::get_if<proto::TaskRecord>(&record)) {
    const RunKey run{task->framework.str(), task->executor.str(), task->run};
    Task& known = tasks_[{task->framework.str(), task->spec.id.str()}];
    if (known.run.run != 0) leave(known.run);
    known.run = run;
    if (run.run != 0) use(run);
  } else if (const auto* update = std::get_if<proto::UpdateRecord>(&record)) {
    const auto at = tasks_.find({update->framework.str(), update->status.task.str()});
    if (at != tasks_.end() && proto::is_terminal(update->status.state)) {
      at->second.last = update->status.sequence;
    }
  } else if (const auto* known = std::get_if<proto::AcknowledgedRecord>(&record)) {
    const auto at = tasks_.find({known->framework.str(), known->task.str()});
    if (at == tasks_.end() || !at->second.last || known->sequence < *at->second.last) {
      return;
    }
    if (at->second.run.run != 0) leave(at->second.run);
    tasks_.erase(at);
  }
}

void RunsInUse::leave(const RunKey& run) {
  const auto at = uses_.find(run);
  if (at == uses_.end() || --at->second > 0) return;
  uses_.erase(at);
  if (ended_.size() < kEndedWaitingMax) {
    ended_.push_back(run);
  } else {
    was_full_ = true;
  }
}

std::vector<RunKey> RunsInUse::take_ended(bool& was_full) {
  const std::lock_guard lock(mutex_);
  was_full = std::exchange(was_full_, false);
  return std::exchange(ended_, {});
}

bool RunsInUse::contains(const RunKey& run) const {
  const std::lock_guard lock(mutex_);
  return uses_.contains(run);
}

std::optional<RunKey> RunsInUse::run_of(const FrameworkId& framework, const TaskId& task) const {
  const std::lock_guard lock(mutex_);
  const auto at = tasks_.find({framework.str(), task.str()});
  if (at == tasks_.end() || at->second.run.run == 0) return std::nullopt;
  return at->second.run;
}

std::vector<RunKey> RunsInUse::executors_after(const RunKey& after, size_t limit) const {
  const std::lock_guard lock(mutex_);
  std::vector<RunKey> found;
  for (auto at = of_executors_.upper_bound(after); at != of_executors_.end(); ++at) {
    if (found.size() == limit) break;
    found.push_back(*at);
  }
  return found;
}

}  // namespace proffer::agent
