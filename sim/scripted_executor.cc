// The life of one executor: start_task, end_task and end_now.

#include "sim/scripted_executor.h"

#include <algorithm>

#include "sim/host.h"

namespace proffer::sim {
namespace {

// A shared executor leaves after this time without work.
constexpr Duration kIdle = seconds(10);
// How long an executor waits for its agent: it gives up before a master may report its tasks as
// gone, as in production (simulation.cc shortens that time as well).
constexpr Duration kWaitsForAgent = seconds(100);

}  // namespace

void ScriptedExecutor::on_begin() {
  driver_ = std::make_unique<sdk::ExecutorDriver>(
      sdk::ExecutorDriverOptions{.framework = started_as().framework,
                                 .executor = started_as().executor,
                                 .token = started_as().token,
                                 .run = started_as().run,
                                 .wait_for_agent = kWaitsForAgent});
  call(this);
  stepped();
}

void ScriptedExecutor::on_line_disconnected(const std::string&) { step(sdk::AgentDisconnected{}); }

void ScriptedExecutor::step(const sdk::ExecutorDriverEvent& event) {
  sdk::ExecutorDriverOutbox out;
  driver_->handle(event, now(), out);
  const bool crashes = crashes_now();
  const size_t done = crashes ? host().chance().below(out.actions.size() + 1) : out.actions.size();
  for (size_t i = 0; i < done; ++i) {
    carry_out(out.actions[i]);
    if (!is_up()) return;
  }
  if (crashes) return host().crash_executor(*this);
  stepped();
}

void ScriptedExecutor::carry_out(const sdk::ExecutorDriverAction& action) {
  if (const auto* send = std::get_if<sdk::SendToAgent>(&action)) {
    network().send(line(), send->envelope);
  } else if (std::holds_alternative<sdk::ResetAgent>(action)) {
    network().reset(line());
  } else if (const auto* task = std::get_if<sdk::StartTask>(&action)) {
    start_task(task->run);
  } else if (const auto* ending = std::get_if<sdk::EndTask>(&action)) {
    end_task(ending->task, ending->grace.value_or(kKillGrace));
  } else if (std::holds_alternative<sdk::EndAll>(action)) {
    end_all();
  } else if (const auto* finished = std::get_if<sdk::Finished>(&action)) {
    // a task that came too late ends with it
    tasks_.clear();
    exits(0, finished->has_told_all);
    // the driver is in the middle of its step, so it stays until the world ends
  }
}

void ScriptedExecutor::start_task(const proto::RunTask& run) {
  if (!task_starts(run)) return;
  const TaskScript script = host().script_of(run);
  Task& started = tasks_[run.spec.id];
  started = Task{script.task, script.data, !run.spec.executor_id.empty()};
  // Its agent must end it together with its executor, which has no other task.
  started.deaf = script.task.stubborn && !started.shared && host().chance().chance(1, 4);
  ++idle_serial_;
  later(microseconds(host().chance().between(10, 3'000)),
        [this, task = run.spec.id, data = script.first_data] {
          if (tasks_.count(task) == 0) return;
          step(sdk::TellUpdate{
              {.task = task, .state = proto::TaskState::kRunning, .data = data, .at = now()}});
        });
  for (const auto& [after, healthy] : script.health) {
    if (!run.spec.health) break;
    later(microseconds(3'000) + after, [this, task = run.spec.id, is_healthy = healthy] {
      const auto at = tasks_.find(task);
      if (at == tasks_.end() || at->second.killing) return;
      step(sdk::TellUpdate{
          {.task = task, .state = proto::TaskState::kRunning, .healthy = is_healthy, .at = now()}});
    });
  }
  for (const auto& [after, data] : script.messages) {
    later(after, [this, task = run.spec.id, data = data] {
      if (tasks_.contains(task)) step(sdk::TellMessage{data});
    });
  }
  later(microseconds(3'000) + script.task.runs, [this, task = run.spec.id, how = script.task] {
    end_now(task, how.signal != 0 ? Ending::kSignalled : Ending::kExited);
  });
}

void ScriptedExecutor::end_task(const TaskId& task, Duration grace) {
  const auto at = tasks_.find(task);
  if (at == tasks_.end() || at->second.killing) return;
  if (at->second.deaf && !leaving_) return;
  at->second.killing = true;
  const Duration takes =
      at->second.task.stubborn
          ? grace
          : nanoseconds(host().chance().between(0, std::min(grace, milliseconds(50)).nanos()));
  later(takes, [this, task] { end_now(task, Ending::kKilled); });
}

void ScriptedExecutor::end_all() {
  leaving_ = true;
  for (const auto& [task, playing] : std::map<TaskId, Task>(tasks_)) {
    end_task(task, kKillGrace);
  }
  later(milliseconds(1), [this] { leave_if_idle(); });
}

void ScriptedExecutor::end_now(const TaskId& task, Ending ending) {
  const auto at = tasks_.find(task);
  if (at == tasks_.end()) return;
  const Task was = at->second;
  tasks_.erase(at);
  task_ends(task, ending, was.task.exit_code, was.task.signal);

  proto::TaskStatus status{.task = task, .data = was.data, .at = now()};
  if (ending == Ending::kKilled) {
    status.state = proto::TaskState::kKilled;
    status.reason = proto::TaskReason::kKilledByScheduler;
    status.data.clear();
  } else if (ending == Ending::kSignalled) {
    status.state = proto::TaskState::kFailed;
    status.reason = proto::TaskReason::kCommandSignalled;
    status.signal = was.task.signal;
  } else {
    status.state =
        was.task.exit_code == 0 ? proto::TaskState::kFinished : proto::TaskState::kFailed;
    status.reason = proto::TaskReason::kCommandExited;
    status.exit_code = was.task.exit_code;
  }
  const bool takes_another = !was.shared && !leaving_ && ending != Ending::kKilled &&
                             started_as().program == proto::kCommandExecutor;
  step(sdk::TellUpdate{std::move(status), takes_another});
  if (!is_up() || takes_another) return;
  if (!was.shared || leaving_) {
    leave_if_idle();
  } else if (tasks_.empty()) {
    later(kIdle, [this, serial = ++idle_serial_] {
      if (serial == idle_serial_) leave_if_idle();
    });
  }
}

void ScriptedExecutor::leave_if_idle() {
  if (!tasks_.empty()) return;
  leaving_ = true;
  step(sdk::FinishWhenAcknowledged{});
}

}  // namespace proffer::sim
