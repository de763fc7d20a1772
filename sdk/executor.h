#pragma once

// For authors of executors. An executor is the process on an agent that runs tasks of one
// framework. Everything runs on the thread that calls run(). A test can run it together with its
// scheduler: sdk/testing/sim_cluster.h.
//
//   int main() {
//     proffer::sdk::Executor executor;
//     executor.on_task([&](const proffer::proto::RunTask& task) {
//       executor.running(task.spec.id);
//       executor.finished(task.spec.id, "42");
//     });
//     return executor.run();
//   }
//
// The agent sets these environment variables: its address and the executor's token
// (PROFFER_AGENT_SOCKET, PROFFER_FRAMEWORK_ID, PROFFER_EXECUTOR_ID, PROFFER_EXECUTOR_RUN,
// PROFFER_EXECUTOR_TOKEN); the executor's directory (PROFFER_SANDBOX); and the path of the Unix
// socket, or host:port, that serves this directory as /v1/files/<framework>/<task>/…
// (PROFFER_AGENT_HTTP). If PROFFER_AGENT_HTTPS is not empty, other machines can read the directory
// too: see docs/PROTOCOL.md.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "proto/messages.h"

namespace proffer::sdk {

class ExecutorHost;

class Executor {
 public:
  // Reads the environment. If a variable is missing, prints its name and exits with 2.
  Executor();
  // Runs on the given host instead of an event loop and an agent. For sdk/testing/sim_cluster.h.
  explicit Executor(ExecutorHost& host);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // --- callbacks ---------------------------------------------------------------------------------
  // Called once for each task, even if the agent restarts. Without a callback each task fails with
  // the reason launch_failed.
  void on_task(std::function<void(const proto::RunTask&)> callback);
  // The task must end within its grace (default: 5 s). Call killed() when it has ended. If it does
  // not end in time, the agent kills the executor only if the task has no executor_id, because then
  // the executor runs no other task. Without a callback the task is reported as killed at once.
  void on_kill(std::function<void(const TaskId&, std::optional<Duration> grace)> callback);
  // A message of the scheduler (Scheduler::message). Messages may be lost.
  void on_message(std::function<void(const std::string& data)> callback);
  // The executor must end: the framework was torn down, or the agent stayed away for 10 minutes.
  // End all tasks, then call finish(). Without a callback run() returns at once.
  void on_shutdown(std::function<void()> callback);

  // --- calls -------------------------------------------------------------------------------------
  // Reports the state of a task that on_task received; other tasks are ignored. Updates are sent in
  // order, and resent until the agent has them on disk. finished(), failed() and killed() end the
  // task: later updates of it are ignored. `data` is for the scheduler (TaskStatus::data); it is
  // cut at 16 KiB.
  void running(const TaskId& task, std::string data = {});
  void finished(const TaskId& task, std::string data = {});
  void failed(const TaskId& task, std::string message, std::string data = {});
  void killed(const TaskId& task, std::string message = {});
  // Reports any update with state running, finished, failed or killed. The SDK sets `agent`,
  // `sequence` and `at`.
  void update(proto::TaskStatus status);
  // Sends a message to the scheduler (Scheduler::on_message). It is lost if the agent or the master
  // is away. A message above 512 KiB is dropped with a warning.
  void message(std::string data);

  FrameworkId framework() const;
  // The TaskSpec::executor_id of its tasks. For a task without one it is the task's id.
  ExecutorId id() const;

  // --- the event loop --------------------------------------------------------------------------
  Time now() const;
  // Calls `callback` once, after this time.
  void after(Duration duration, std::function<void()> callback);
  // Calls `callback` for each of these signals instead of the signal's default action.
  void on_signal(int signal, std::function<void()> callback);
  // Runs `work` on another thread, then `done` on this one.
  void run_aside(std::function<void()> work, std::function<void()> done);
  // Serves the agent until finish(). Returns the exit code of finish().
  int run();
  // Leaves run() when all updates are acknowledged. Tasks that have not ended by then fail with the
  // reason executor_ended.
  void finish(int exit_code = 0);

 private:
  class Shell;
  std::unique_ptr<Shell> shell_;
};

}  // namespace proffer::sdk
