// The files of tasks are in the sandbox before their executor starts: the run is recorded as
// fetching, the shell fetches, and only then a process is started. So if the agent is killed
// meanwhile, its next life knows that no process runs yet, and fetches again. Read fetch_files
// first.

#include "common/check.h"
#include "common/text.h"
#include "slave/core/state.h"
#include "slave/core/trace.h"

namespace proffer::agent {

void Agent::State::fetch_files(const ExecutorKey& key, const LiveExecutor& executor, Step& step) {
  step.out.actions.push_back(FetchFiles{.framework = key.first,
                                        .executor = key.second,
                                        .run = executor.run,
                                        .user = executor.user,
                                        .files = *executor.fetch,
                                        .resources = used_by(key, executor)});
  step.trace(FilesToBeFetched{key.first, key.second, executor.fetch->size()});
  deadlines_.arm({Deadline::Kind::kFetch, key.first, key.second.str()},
                 step.now + options_.fetch_timeout);
}

void Agent::State::on(const FilesFetched& fetched, Step& step) {
  LiveExecutor* const executor = find_run(fetched.framework, fetched.executor, fetched.run);
  if (executor == nullptr || !executor->fetching) return;
  const ExecutorKey key{fetched.framework, fetched.executor};
  deadlines_.cancel({Deadline::Kind::kFetch, key.first, key.second.str()});
  // A run that was killed meanwhile has no process that could end.
  if (!fetched.problem.empty() || executor->killed || executor->tasks.empty()) {
    return executor_gone(key, proto::TaskReason::kFetchFailed, fetched.problem, {}, step);
  }
  proto::ExecutorRecord known = ledger_.executors().at(key);
  known.fetching = false;
  record(std::move(known), step);
  executor->fetching = false;
  start_process(key, *executor, std::nullopt, std::nullopt, step);
}

void Agent::State::fetch_overdue(const ExecutorKey& key, Step& step) {
  const std::set<TaskId> tasks = std::exchange(executors_.at(key).tasks, {});
  for (const TaskId& task : tasks) {
    const TaskKey task_key{key.first, task};
    CHECK(make_update(
        task_key,
        {.state = proto::TaskState::kFailed,
         .reason = proto::TaskReason::kFetchFailed,
         .message = text("its files were not fetched within ", to_text(options_.fetch_timeout))},
        step));
    task_ended(task_key, step);
  }
  kill_executor(key, step);
}

// --- recovery ------------------------------------------------------------------------------------

// Called before its tasks are placed.
void Agent::State::fetch_again(const ExecutorKey& key, const proto::ExecutorRecord& executor) {
  LiveExecutor& again = executors_[key];
  again.run = executor.run;
  again.token = executor.token;
  again.program = executor.program;
  again.user = executor.user;
  again.own = executor.own;
  again.fetching = true;
}

// Called after all tasks are placed.
void Agent::State::fetch_all_again(Step& step) {
  std::vector<ExecutorKey> unwanted;
  for (auto& [key, executor] : executors_) {
    if (!executor.fetching) continue;
    if (executor.tasks.empty()) {
      unwanted.push_back(key);
    } else {
      fetch_files(key, executor, step);
    }
  }
  for (const ExecutorKey& key : unwanted) {
    executors_.erase(key);
    record(proto::ExecutorGone{key.first, key.second}, step);
  }
}

}  // namespace proffer::agent
