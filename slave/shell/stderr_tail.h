#pragma once

#include <cstddef>
#include <string>

namespace proffer::agent {

// The end of the file `stderr` of a sandbox, at most so many bytes; nothing if it cannot be read.
// The sandbox is its user's: what is no regular file of this one name there is not read.
std::string stderr_tail(const std::string& sandbox, size_t bytes_max);

}  // namespace proffer::agent
