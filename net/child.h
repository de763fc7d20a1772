#pragma once

// A program that this process starts and that does not outlive it.

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "common/result.h"

namespace proffer {

// The path of the program `file` of Proffer: in $PROFFER_BIN_DIR, else beside this executable.
// Errors: kNotFound.
Result<std::string> find_program_file(std::string_view file);

// Starts the program with the path `command[0]` in a process group of its own, so Ctrl-C on a
// terminal does not reach it. It reads nothing, and writes to `output`. It gets SIGKILL if the
// thread that starts it ends. The caller reaps it. Errors: kInternal.
Result<pid_t> start_child(std::vector<std::string> command, int output);

// Of a status of waitpid(): "exit code 1", "signal 9 (Killed)".
std::string how_it_ended(int status);

}  // namespace proffer
