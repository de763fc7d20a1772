#pragma once

// The asks with tasks that are not launched yet, each with when it will probably start.

#include <string>
#include <string_view>
#include <vector>

#include "master/shell/routes.h"
#include "proto/forecast.h"

namespace proffer::master {

// Those whose FRAMEWORK/ASK begins with `prefix`, behind the key `after`, in order of this key: one
// more than `limit`, if there are so many. Of asks that `from.by` may not see, no times are told.
// O(frameworks + asks), and O(log) more for each row.
std::vector<proto::PendingRow> pending_rows(const ReadContext& from, std::string_view prefix,
                                            std::string_view after, size_t limit);
std::string pending_key(const proto::PendingRow& row);

}  // namespace proffer::master
