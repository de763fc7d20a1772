#pragma once

// Starts child programs that end with this process.

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "common/result.h"

namespace proffer {

// The path of Proffer's program `file`: in $PROFFER_BIN_DIR, else beside this executable. Errors:
// kNotFound.
Result<std::string> find_program_file(std::string_view file);

// Starts the program with the path `command[0]` in its own process group, so Ctrl-C on a terminal
// does not reach it. It has no input, and writes to `output`. It gets SIGKILL if the thread that
// started it ends. The caller reaps it. Errors: kInternal.
Result<pid_t> start_child(std::vector<std::string> command, int output);

// Describes a status of waitpid(): "exit code 1", "signal 9 (Killed)".
std::string how_it_ended(int status);

}  // namespace proffer
