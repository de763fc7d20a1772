#pragma once

// The asks with tasks that are not launched, with forecasts of their starts.

#include <string>
#include <string_view>
#include <vector>

#include "master/shell/routes.h"
#include "proto/forecast.h"

namespace proffer::master {

// The asks whose FRAMEWORK/ASK begins with `prefix` and comes after the key `after`, in order of
// that key: at most `limit` + 1. Asks that `from.by` may not see have no forecast. O(frameworks +
// asks), plus O(log) per row.
std::vector<proto::PendingRow> pending_rows(const ReadContext& from, std::string_view prefix,
                                            std::string_view after, size_t limit);
std::string pending_key(const proto::PendingRow& row);

}  // namespace proffer::master
