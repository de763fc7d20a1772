#pragma once

// Intervals and timeouts of masters and agents, as operators give them.

#include <string_view>

#include "common/result.h"
#include "common/time.h"

namespace proffer {

// Shorter intervals would keep a process permanently busy.
inline constexpr Duration kIntervalMin = milliseconds(1);

// Errors: kInvalidArgument names `name`, the value and what is allowed.
Result<Duration> parse_interval(std::string_view name, std::string_view text);

}  // namespace proffer
