#pragma once

// Queries of `proffer history` and `proffer usage`, and the printing of their answers.

#include <string>
#include <string_view>
#include <vector>

#include "cli/output.h"
#include "common/result.h"
#include "net/address.h"
#include "proto/history.h"
#include "proto/masters.h"
#include "sdk/shell/history.h"

namespace proffer::cli {

using sdk::fetch_history;
using sdk::HistoryRows;
using sdk::local_time;

// "the master m2:5050 led from … to … and is away: what it saw is missing"
std::string missing_words(const proto::MasterRow& master);

// The use of one role in one hour.
struct RoleHour {
  Time hour = {};
  RoleName role = {};
  ResourceVector seconds = {};  // milli-units times seconds
  bool operator==(const RoleHour&) const = default;
};
// Sorted by hour, then by role.
std::vector<RoleHour> by_hour(const std::vector<proto::RoleUse>& uses);

Table history_table(const proto::HistoryPage& page);
Table role_hours_table(const std::vector<RoleHour>& hours);

// "1.5 MiB" for bytes; "12.3 s" for nanoseconds; "-" for none.
std::string bytes_text(const std::optional<int64_t>& bytes);
std::string nanos_text(const std::optional<int64_t>& nanos);

// The time that long ago. Errors: kInvalidArgument: `text` is not a duration.
Result<Time> time_ago(std::string_view text);

}  // namespace proffer::cli
