// The life of a process: begin, starts and ends of tasks, and one of two ends, exits() and kill().

#include "sim/executor_process.h"

#include <utility>

#include "common/check.h"
#include "common/text.h"
#include "sim/host.h"
#include "sim/trace.h"

namespace proffer::sim {

ExecutorProcess::ExecutorProcess(World& world, Network& network, Host& host, ProcessStart start,
                                 int32_t pid)
    : Node(world, text(host.name().str(), ".", start.executor.str(), ".", start.run)),
      network_(network),
      host_(host),
      start_(std::move(start)),
      pid_(pid),
      party_(network.add_party(host.site())) {}

void ExecutorProcess::becomes(ProcessStart start) {
  if (start.run == start_.run && start.executor == start_.executor) return;
  start_ = std::move(start);
  ran_.clear();
}

void ExecutorProcess::begin() {
  if (ended_ || std::exchange(begun_, true)) return;
  begin_life();
  on_begin();
}

void ExecutorProcess::call(Caller* caller) {
  line_ = network_.call(party_, {host_.executors()}, caller);
  note(ExecutorBegins{pid_});
}

void ExecutorProcess::kill() {
  ended_ = true;
  for (const TaskKey& task : ran_) host_.journal().unwitnessed(task);
  journal_taken_down();
  if (!is_up()) return;
  note(ExecutorKilled{pid_});
  if (line_) network_.hang_up(*line_);
  end_life();
  network_.thaw(party_);
  on_killed();
}

void ExecutorProcess::exits(int32_t exit_code, bool told_all) {
  ended_ = true;
  for (const TaskId& task : running_) host_.journal().unwitnessed({start_.framework, task});
  journal_taken_down();
  if (!told_all) {
    for (const TaskKey& task : ran_) host_.journal().unwitnessed(task);
  }
  note(ExecutorExits{pid_});
  if (line_) network_.hang_up(*line_);
  end_life();
  host_.exited(*this, exit_code, std::nullopt);
}

void ExecutorProcess::journal_taken_down() {
  for (const TaskId& task : std::exchange(running_, {})) {
    host_.journal().ended({start_.framework, task}, Ending::kTakenDown, 0, 9);
  }
}

bool ExecutorProcess::task_starts(const proto::RunTask& run) {
  const TaskKey key(start_.framework, run.spec.id);
  for (const Violation& violation :
       host_.journal().started(key, host_.name(), run.assignment.resources, now())) {
    world().violated(name(), violation);
  }
  if (!world().violations().empty()) return false;
  note(TaskStarts{run.spec.id});
  ran_.push_back(key);
  running_.insert(run.spec.id);
  return true;
}

void ExecutorProcess::task_ends(const TaskId& task, Ending ending, int32_t exit_code,
                                int32_t signal) {
  CHECK(running_.erase(task) == 1) << task.str() << " does not run in " << name();
  host_.journal().ended({start_.framework, task}, ending, exit_code, signal);
  note(TaskEnds{task});
}

void ExecutorProcess::task_ends_as_reported(const proto::TaskStatus& status) {
  CHECK(running_.erase(status.task) == 1) << status.task.str() << " does not run in " << name();
  host_.journal().reported({start_.framework, status.task}, status);
  note(TaskEnds{status.task, status.state});
}

}  // namespace proffer::sim
