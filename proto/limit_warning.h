#pragma once

// A signal that a command gets some time before its time limit, so that it can save its work.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/result.h"
#include "common/time.h"
#include "proto/messages.h"

namespace proffer::proto {

// The variable of a task's environment that asks for it, as in "USR1@60s". The command sees it.
inline constexpr std::string_view kWarningVariable = "PROFFER_SIGNAL";
inline constexpr Duration kWarningTime = seconds(60);

struct LimitWarning {
  int32_t signal = 0;
  Duration before = kWarningTime;  // the limit
  bool operator==(const LimitWarning&) const = default;
};

// Reads SIGNAL or SIGNAL@TIME, as in "USR1@2m". Errors: kInvalidArgument for another form, SIGKILL,
// SIGSTOP, or a time of zero.
Result<LimitWarning> parse_limit_warning(std::string_view given);
// The warning that a task asks for; none if it asks for none. Errors: kInvalidArgument.
Result<std::optional<LimitWarning>> warning_in(const Environment& environment);
// Checks that the limit leaves time before the warning. Errors: kInvalidArgument; `limit_name` is
// the option or key that has the limit, which is zero if it was not given.
Result<void> check_limit_warning(const LimitWarning& warning, Duration limit,
                                 std::string_view limit_name);
// "USR1@60s"; parse_limit_warning() reads it.
std::string to_text(const LimitWarning& warning);

}  // namespace proffer::proto
