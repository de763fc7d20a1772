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
// (PROFFER_AGENT_SOCKET, PROFFER_FRAMEWORK_ID, PROFFER_EXECUTOR_ID, PROFFER_EXECUTOR_TOKEN), and
// with them PROFFER_SANDBOX, its directory, and PROFFER_AGENT_HTTP, the path of the Unix socket (or
// host:port) where that is served as /v1/files/<framework>/<task>/….

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

  void on_task(std::function<void(const proto::RunTask&)> callback);
  // The task is to end within its grace; answer with killed() when it has. Without a callback a
  // task that is killed is told as killed at once.
  void on_kill(std::function<void(const TaskId&, std::optional<Duration> grace)> callback);
  void on_message(std::function<void(const std::string& data)> callback);
  // Everything ends: the framework was torn down, or the agent stayed away. Without a callback
  // run() returns at once.
  void on_shutdown(std::function<void()> callback);

  void running(const TaskId& task, std::string data = {});
  void finished(const TaskId& task, std::string data = {});
  void failed(const TaskId& task, std::string message, std::string data = {});
  void killed(const TaskId& task, std::string message = {});
  // Any update.
  void update(proto::TaskStatus status);
  void message(std::string data);

  FrameworkId framework() const;
  // The TaskSpec::executor_id of its tasks.
  ExecutorId id() const;

  // --- the loop --------------------------------------------------------------------------------
  Time now() const;
  void after(Duration duration, std::function<void()> callback);
  void on_signal(int signal, std::function<void()> callback);
  void run_aside(std::function<void()> work, std::function<void()> done);
  int run();
  // Leaves run() when all updates are acknowledged.
  void finish(int exit_code = 0);

 private:
  class Shell;
  std::unique_ptr<Shell> shell_;
};

}  // namespace proffer::sdk
