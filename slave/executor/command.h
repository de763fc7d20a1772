#pragma once

// One task's command as a process: /bin/sh -c in a process group of its own, in the sandbox, with
// an environment that says exactly what docs/PROTOCOL.md promises.

#include <string>
#include <vector>

#include "common/result.h"
#include "proto/messages.h"

namespace proffer::executor {

// What the agent gave this process and every task of it.
struct Surroundings {
  std::string sandbox = {};
  std::string agent = {};  // its name
  std::string path = {};   // $PATH
};

// "NAME=value" for each variable of the task, sorted by name. What the task brings may replace PATH
// and HOME, but not what Proffer says (PROFFER_… and PORT_… of its own).
std::vector<std::string> task_environment(const proto::RunTask& run, const Surroundings& around);

// Starts it; standard input is empty, output goes where this process's own goes. The process group
// has the number of the process. Errors: kInvalidArgument (an environment or command with a NUL),
// kUnavailable (the system refused).
Result<pid_t> start_command(const proto::RunTask& run, const Surroundings& around);

// The children of this process, whoever forked them: with a subreaper also what they left behind.
std::vector<pid_t> children_of_this_process();

}  // namespace proffer::executor
