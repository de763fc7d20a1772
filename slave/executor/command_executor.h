#pragma once

// The small executor of commands, as a process around the executor driver's core. It looks beside a
// task whether that is healthy, if the task says how, and tells when it changes.

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

// Connects at once; runs what the agent sends. The loop is stopped when there is nothing more to
// do: the only task ended and the agent wrote that down, or all were ended on request. Loop thread.
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
