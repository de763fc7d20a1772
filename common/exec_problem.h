#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace proffer {

// Bytes at the beginning of a program's file that are enough to tell why it cannot be executed.
inline constexpr size_t kExecHeadBytes = 256;

// The interpreter that the first line of a script names, as the kernel reads it; empty if the file
// is not a script.
std::string_view interpreter_of(std::string_view head);

// Why execve() failed, for people: "No such file or directory: its first line names the interpreter
// '/usr/bin/pyhton3', which this machine does not have". `head` is the beginning of the file that
// was found for the program; none: there is no such file, or it cannot be read.
std::string exec_problem(std::string_view program, int error_number,
                         const std::optional<std::string>& head);

}  // namespace proffer
