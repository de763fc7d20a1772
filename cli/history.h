#pragma once

// Queries of `proffer history` and `proffer usage`, and how their answers are printed.

#include <string>
#include <string_view>
#include <vector>

#include "cli/output.h"
#include "common/result.h"
#include "net/address.h"
#include "proto/history.h"

namespace proffer::cli {

struct HistoryRows {
  proto::HistoryPage page = {};  // oldest first
  bool more = false;             // there are older ones
};

// The newest `rows_max` entries that match. Errors: the master's; kUnavailable.
Result<HistoryRows> fetch_history(const Masters& master, proto::HistoryQuery query,
                                  size_t rows_max);

// Use of one role in one hour.
struct RoleHour {
  Time hour = {};
  RoleName role = {};
  ResourceVector seconds = {};  // milli-units times seconds
  bool operator==(const RoleHour&) const = default;
};
// By hour, then by role.
std::vector<RoleHour> by_hour(const std::vector<proto::RoleUse>& uses);

Table history_table(const proto::HistoryPage& page);
Table role_hours_table(const std::vector<RoleHour>& hours);

// "2026-11-23 04:05:06", in local time.
std::string local_time(Time time);
// "1.5 MiB" of bytes; "12.3 s" of nanoseconds; "-" of none.
std::string bytes_text(const std::optional<int64_t>& bytes);
std::string nanos_text(const std::optional<int64_t>& nanos);

// The time so long ago. Errors: kInvalidArgument, `text` is no duration.
Result<Time> time_ago(std::string_view text);

}  // namespace proffer::cli
