#pragma once

// The command executor, as a process around the executor driver's core. It also runs the task's
// health check, if there is one, and reports changes.

#include <memory>
#include <string>

#include "net/loop.h"
#include "sdk/core/executor_driver.h"
#include "slave/executor/command.h"

namespace proffer::executor {

struct CommandExecutorOptions {
  sdk::ExecutorDriverOptions driver = {};
  std::string agent_socket = {};
  Surroundings around = {};
};

// Connects at once and runs the tasks that the agent sends. Stops the loop when its only task has
// ended and the agent has recorded that, or when all tasks were ended on request. Loop thread.
class CommandExecutor {
 public:
  CommandExecutor(Loop& loop, CommandExecutorOptions options);
  ~CommandExecutor();
  CommandExecutor(const CommandExecutor&) = delete;
  CommandExecutor& operator=(const CommandExecutor&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace proffer::executor
