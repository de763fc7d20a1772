#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/result.h"

namespace proffer::sdk {

// Reads a file that a person names on a command line, `what` as in "an app file". Errors: there is
// no such file (the nearest name beside it is named), it is a directory (files in it are named), it
// cannot be read, or it has more than `bytes_max`.
Result<std::string> read_given_file(const std::string& path, std::string_view what,
                                    size_t bytes_max);

}  // namespace proffer::sdk
