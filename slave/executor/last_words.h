#pragma once

#include <cstddef>
#include <string>

namespace proffer::executor {

// The end of this process's standard error, at most this many bytes; empty if standard error is not
// a file that this user can read.
std::string last_words(size_t bytes_max);

}  // namespace proffer::executor
