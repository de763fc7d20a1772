#pragma once

#include <cstddef>
#include <string>

namespace proffer::agent {

// The end of the file `stderr` in a sandbox, at most this many bytes; empty if it cannot be read.
// The task's user controls the sandbox, so only a regular file with this single name is read.
std::string stderr_tail(const std::string& sandbox, size_t bytes_max);

}  // namespace proffer::agent
