#pragma once

// Estimated starts of waiting asks, for `proffer tasks --pending` and `proffer explain`.

#include <functional>
#include <string>
#include <vector>

#include "common/result.h"
#include "proto/forecast.h"
#include "sdk/shell/master_call.h"

namespace proffer::cli {

// "in 40s, in nine of ten cases within 2m", or why there is no estimate. For an ask with several
// tasks also the start of the last one.
std::string start_text(const proto::PendingRow& row);

// True if some forecast is still being made.
bool waits_for_forecast(const std::vector<proto::PendingRow>& rows);

// All asks whose FRAMEWORK/ASK has this prefix, page by page.
Result<void> read_pending(const Masters& master, const std::string& prefix,
                          proto::PendingPage& page);

// Retries while a forecast is being made, at most this many times, five per second. `ask` must set
// `rows`.
Result<void> ask_until_forecast(const std::function<Result<void>()>& ask,
                                const std::vector<proto::PendingRow>& rows, int times);

int print_pending(const Masters& master, const std::string& prefix, bool json);

}  // namespace proffer::cli
