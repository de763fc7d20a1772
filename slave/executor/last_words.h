#pragma once

#include <cstddef>
#include <string>

namespace proffer::executor {

// The end of what was written to this process's standard error, at most so many bytes; nothing if
// that is no file that this user may read.
std::string last_words(size_t bytes_max);

}  // namespace proffer::executor
