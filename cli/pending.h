#pragma once

// When what waits will probably start: `proffer tasks --pending`, and what `proffer explain` says
// of it.

#include <functional>
#include <string>
#include <vector>

#include "common/result.h"
#include "proto/forecast.h"
#include "sdk/shell/master_call.h"

namespace proffer::cli {

// "in 40s, in nine of ten cases within 2m", or why that is not known. Of an ask with several tasks
// also when the last of them starts.
std::string start_text(const proto::PendingRow& row);

// Whether some forecast is still being made.
bool waits_for_forecast(const std::vector<proto::PendingRow>& rows);

// All asks whose FRAMEWORK/ASK begins so, page by page.
Result<void> read_pending(const Masters& master, const std::string& prefix,
                          proto::PendingPage& page);

// Asks again, while a forecast is being made, at most so many times, five in a second. `ask` must
// set `rows`.
Result<void> ask_until_forecast(const std::function<Result<void>()>& ask,
                                const std::vector<proto::PendingRow>& rows, int times);

int print_pending(const Masters& master, const std::string& prefix, bool json);

}  // namespace proffer::cli
