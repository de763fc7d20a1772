#pragma once

// For authors of executors: the process on an agent that runs tasks of one framework. Everything
// runs on the thread that calls run(). sdk/testing/sim_cluster.h tests it together with its
// scheduler.
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
// The agent's address and the executor's token come with the environment that the agent gives
// (PROFFER_AGENT_SOCKET, PROFFER_FRAMEWORK_ID, PROFFER_EXECUTOR_ID, PROFFER_EXECUTOR_RUN,
// PROFFER_EXECUTOR_TOKEN), and with them PROFFER_SANDBOX, its directory, and PROFFER_AGENT_HTTP,
// the path of the Unix socket (or host:port) where that is served as
// /v1/files/<framework>/<task>/…. If PROFFER_AGENT_HTTPS is not empty, other machines read it, too:
// docs/PROTOCOL.md says how.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "proto/messages.h"

namespace proffer::sdk {

class ExecutorHost;

class Executor {
 public:
  // Reads the environment. Prints what is missing and exits with 2.
  Executor();
  // On a given host instead of a loop and an agent: for sdk/testing/sim_cluster.h.
  explicit Executor(ExecutorHost& host);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // --- what happens ----------------------------------------------------------------------------
  // Each task once, also if the agent is started again. Without a callback each task fails, with
  // the reason launch_failed.
  void on_task(std::function<void(const proto::RunTask&)> callback);
  // The task is to end within its grace (none: 5 s); answer with killed() when it has. The agent
  // kills an executor that lets this time pass only if the task has no executor_id, and so the
  // executor for itself. Without a callback a task that is killed is told as killed at once.
  void on_kill(std::function<void(const TaskId&, std::optional<Duration> grace)> callback);
  // The scheduler said something: Scheduler::message. A message may be lost.
  void on_message(std::function<void(const std::string& data)> callback);
  // Everything ends: the framework was torn down, or the agent stayed away for 10 minutes. End all
  // tasks, then call finish(). Without a callback run() returns at once.
  void on_shutdown(std::function<void()> callback);

  // --- what to do ------------------------------------------------------------------------------
  // What became of a task that on_task was given; of any other task nothing is told. Updates are
  // sent in order, and again until the agent has written them down. finished(), failed() and
  // killed() end the task: later updates of it are ignored. `data` is for the scheduler
  // (TaskStatus::data); what is over 16 KiB is cut off.
  void running(const TaskId& task, std::string data = {});
  void finished(const TaskId& task, std::string data = {});
  void failed(const TaskId& task, std::string message, std::string data = {});
  void killed(const TaskId& task, std::string message = {});
  // Any update: of the states running, finished, failed and killed. `agent`, `sequence` and `at`
  // are filled in.
  void update(proto::TaskStatus status);
  // To the scheduler, which hears it in Scheduler::on_message. It is lost if the agent, or the
  // master behind it, is away. One of more than 512 KiB is dropped, with a warning.
  void message(std::string data);

  FrameworkId framework() const;
  // The TaskSpec::executor_id of its tasks; of a task without one, the task's id.
  ExecutorId id() const;

  // --- the loop --------------------------------------------------------------------------------
  Time now() const;
  // Calls once, after the given time.
  void after(Duration duration, std::function<void()> callback);
  // Calls for each of these signals that the process gets, in place of what it does by default.
  void on_signal(int signal, std::function<void()> callback);
  // Runs `work` on another thread and `done` on this one.
  void run_aside(std::function<void()> work, std::function<void()> done);
  // Talks to the agent until finish(), whose exit code it returns.
  int run();
  // Leaves run() when all updates are acknowledged. Tasks that have not ended by then fail, with
  // the reason executor_ended.
  void finish(int exit_code = 0);

 private:
  class Shell;
  std::unique_ptr<Shell> shell_;
};

}  // namespace proffer::sdk
