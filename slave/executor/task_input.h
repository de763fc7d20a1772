#pragma once

// The standard input of a task, or its terminal, if its scheduler sends it (proto/stdin_stream.h).

#include <functional>
#include <memory>
#include <string>

#include <sys/types.h>

#include "common/result.h"
#include "proto/messages.h"
#include "slave/executor/stdin_pipe.h"
#include "slave/executor/task_environment.h"
#include "slave/executor/task_terminal.h"

namespace proffer::executor {

// Loop thread.
class TaskInput {
 public:
  using Tell = std::function<void(std::string)>;  // sends a message to the scheduler

  // `is_alone`: the command has its executor for itself. Errors: kInvalidArgument for a terminal
  // that several commands would share.
  static Result<void> check(const proto::RunTask& run, bool is_alone);
  // Null: the task asks for none, and its input is empty. `to` is its stdout, for a terminal.
  // Errors: kInvalidArgument, kUnavailable (the system has no pipe or terminal).
  static Result<std::unique_ptr<TaskInput>> make(Loop& loop, const proto::RunTask& run, int to,
                                                 const Tell& tell);
  // Starts the command with it. Once. Errors: as start_shell().
  Result<pid_t> start(const proto::RunTask& run, const Surroundings& around);
  void take(const proto::StdinPart& part);
  void take(const proto::TerminalView& view);
  // The command and all that it left behind have ended: copies what is left on the terminal.
  void finish();

 private:
  TaskInput() = default;
  std::unique_ptr<StdinPipe> pipe_;
  std::unique_ptr<TaskTerminal> terminal_;  // null if there is a pipe
};

}  // namespace proffer::executor
