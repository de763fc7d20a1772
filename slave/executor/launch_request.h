#pragma once

// What an agent asks of the stem (stem.h): one message of environment, "NAME=value" and a NUL for
// each variable, over a socket that keeps messages apart; the answer is a pid, or an errno below 0.
// Both ends are of one build.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace proffer::executor {

// What a stem has room for: some ten variables, two of which are paths of at most 4 KiB.
inline constexpr size_t kLaunchBytesMax = 16 * 1024;

// Errors: kInvalidArgument (a variable that is not NAME=value, or with a NUL), kResourceExhausted
// (over kLaunchBytesMax).
Result<std::string> encode_launch(const std::vector<std::string>& environment);
// The variables, within `bytes`. Errors: kInvalidArgument.
Result<std::vector<std::string_view>> decode_launch(std::string_view bytes);

}  // namespace proffer::executor
