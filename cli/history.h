#pragma once

// Queries of `proffer history` and `proffer usage`, and how their answers are printed.

#include <string>
#include <string_view>
#include <vector>

#include "cli/output.h"
#include "common/result.h"
#include "net/address.h"
#include "proto/history.h"
#include "proto/masters.h"

namespace proffer::cli {

struct HistoryRows {
  proto::HistoryPage page = {};  // of fetch_history(): oldest first
  bool more = false;             // there are older ones
};

// The newest `rows_max` entries that match, of what all masters of the cluster saw; `missing` are
// those that led then and cannot be asked. Errors: the leader's; kUnavailable.
Result<HistoryRows> fetch_history(const Masters& master, proto::HistoryQuery query,
                                  size_t rows_max);

// What each master saw, as one: by time, but in the order in which each wrote it. All pages, and
// the result, are the newest entry first. A task that two masters wrote, since its end was
// acknowledged while the lead changed, is there once. Of more than `rows_max` rows the oldest are
// left out, with the gaps and the missing masters of before.
HistoryRows merge_history(std::vector<HistoryRows> parts, std::vector<proto::MasterRow> missing,
                          size_t rows_max);

// "the master m2:5050 led from … to … and is away: what it saw is missing"
std::string missing_words(const proto::MasterRow& master);

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
