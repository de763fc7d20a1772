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
  std::string user = {};   // that it runs as
};

// "NAME=value" for each variable of the task, sorted by name. What the task brings may replace
// PATH, HOME, LANG, TMPDIR and the user's name, but not what Proffer says (PROFFER_… and PORT_… of
// its own).
std::vector<std::string> task_environment(const proto::RunTask& run, const Surroundings& around);

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

// The children of this process, whoever forked them: with a subreaper also what they left behind.
std::vector<pid_t> children_of_this_process();

}  // namespace proffer::executor
