#pragma once

// Starts a task's command: /bin/sh -c in its own process group, in the sandbox, with exactly the
// environment of docs/PROTOCOL.md.

#include <string>
#include <vector>

#include "common/result.h"
#include "proto/messages.h"
#include "slave/executor/task_environment.h"

namespace proffer::executor {

// A command line for /bin/sh, in a process group whose id is its pid.
struct ShellCommand {
  std::string command = {};
  std::vector<std::string> environment = {};
  std::string directory = {};
  bool is_silent = false;  // discard its output; otherwise the output goes to this process's own
  int in = -1;             // its standard input; negative: empty
  int terminal = -1;       // if not negative: its input, its output, and its controlling terminal
};
// Starts it. Errors: kInvalidArgument (an environment or command with a
// NUL), kUnavailable (the system refused).
Result<pid_t> start_shell(ShellCommand shell);

// The priority of all commands of this process, which has a higher one itself.
void set_priority_of_commands(int nice);

// Starts the task's command with its environment in its sandbox. Errors: as start_shell().
Result<pid_t> start_command(const proto::RunTask& run, const Surroundings& around, int in = -1);
// The same with a terminal (proto/stdin_stream.h).
Result<pid_t> start_at_terminal(const proto::RunTask& run, const Surroundings& around,
                                int terminal);
// The same for another command line of the task's group.
Result<pid_t> start_command(const proto::RunTask& run, const Surroundings& around,
                            const std::string& command);

// The children of this process. For a subreaper these include orphaned descendants.
std::vector<pid_t> children_of_this_process();

}  // namespace proffer::executor
