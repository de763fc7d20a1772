#pragma once

// The log of a daemon as text (glog's) or as one JSON object per line.

#include <string>
#include <string_view>

#include "common/result.h"

namespace proffer {

// Call it after InitGoogleLogging. `format` is "text" or "json"; with "json" each line on standard
// error is
//   {"time_s":…,"level":"info","program":"proffer-master","pid":…,"message":"agent lost",…}
// Lines about an event have its fields, with the names and the level of the event log; others have
// "source", the place in the code. Invalid UTF-8 is replaced by U+FFFD. Errors: kInvalidArgument.
Result<void> choose_log_format(std::string_view format, std::string program);

}  // namespace proffer
