#pragma once

// Intervals and time-outs of masters and agents, as operators give them.

#include <string_view>

#include "common/result.h"
#include "common/time.h"

namespace proffer {

// Shorter ones would keep a process busy with nothing else.
inline constexpr Duration kIntervalMin = milliseconds(1);

// Errors: kInvalidArgument names `name`, the value and what is allowed.
Result<Duration> parse_interval(std::string_view name, std::string_view text);

}  // namespace proffer
