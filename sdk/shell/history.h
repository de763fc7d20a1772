#pragma once

// The history of ended tasks and of the use of roles, merged from all masters of a cluster.

#include <functional>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "net/address.h"
#include "proto/history.h"
#include "proto/masters.h"

namespace proffer::sdk {

struct HistoryRows {
  proto::HistoryPage page = {};  // from fetch_history(): oldest first
  bool more = false;             // there are older rows
};

// The newest `rows_max` entries that match, from all masters of the cluster. `missing` are the
// masters that led in that time and cannot be asked. Errors: the leader's; kUnavailable.
Result<HistoryRows> fetch_history(const Masters& master, proto::HistoryQuery query,
                                  size_t rows_max);

// Visits the same rows page by page, as they come: master by master, newest first. For sums over
// more rows than fit in memory. Returns the masters that are missing. Errors: the leader's;
// kUnavailable.
Result<std::vector<proto::MasterRow>> visit_history(
    const Masters& master, proto::HistoryQuery query,
    const std::function<void(const proto::HistoryPage&)>& see);

// Merges the rows of several masters by time, and keeps the order in which each master wrote its
// rows. All pages, and the result, are newest first. If two masters wrote the same task, because
// its end was acknowledged while the lead changed, it appears once. Above `rows_max` rows the
// oldest are left out, together with their gaps and missing masters.
HistoryRows merge_history(std::vector<HistoryRows> parts, std::vector<proto::MasterRow> missing,
                          size_t rows_max);

// "2026-11-23 04:05:06", in local time.
std::string local_time(Time time);

}  // namespace proffer::sdk
