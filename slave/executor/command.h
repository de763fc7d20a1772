#pragma once

// One task's command as a process: /bin/sh -c in a process group of its own, in the sandbox, with
// an environment that says exactly what docs/PROTOCOL.md promises.

#include <string>
#include <vector>

#include "common/result.h"
#include "proto/messages.h"
#include "slave/executor/task_environment.h"

namespace proffer::executor {

// One command line of /bin/sh, in a process group that has the number of its process.
struct ShellCommand {
  std::string command = {};
  std::vector<std::string> environment = {};
  std::string directory = {};
  bool is_silent = false;  // its output goes nowhere, instead of where this process's own goes
};
// Starts it; standard input is empty. Errors: kInvalidArgument (an environment or command with a
// NUL), kUnavailable (the system refused).
Result<pid_t> start_shell(ShellCommand shell);

// The task's own, with its environment, in its sandbox. Errors as above.
Result<pid_t> start_command(const proto::RunTask& run, const Surroundings& around);
// Another command line of the task's group, likewise.
Result<pid_t> start_command(const proto::RunTask& run, const Surroundings& around,
                            const std::string& command);

// The children of this process; of a subreaper, also orphans of their descendants.
std::vector<pid_t> children_of_this_process();

}  // namespace proffer::executor
