#pragma once

// The history of ended tasks and of the use of roles, as all masters of a cluster saw it.

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
  proto::HistoryPage page = {};  // of fetch_history(): oldest first
  bool more = false;             // there are older ones
};

// The newest `rows_max` entries that match, of what all masters of the cluster saw; `missing` are
// those that led then and cannot be asked. Errors: the leader's; kUnavailable.
Result<HistoryRows> fetch_history(const Masters& master, proto::HistoryQuery query,
                                  size_t rows_max);

// The same in pages, as they come: master by master, of each the newest entry first. For sums that
// do not fit memory otherwise. Returns the masters that are missing. Errors: the leader's;
// kUnavailable.
Result<std::vector<proto::MasterRow>> visit_history(
    const Masters& master, proto::HistoryQuery query,
    const std::function<void(const proto::HistoryPage&)>& see);

// What each master saw, as one: by time, but in the order in which each wrote it. All pages, and
// the result, are the newest entry first. A task that two masters wrote, since its end was
// acknowledged while the lead changed, is there once. Of more than `rows_max` rows the oldest are
// left out, with the gaps and the missing masters of before.
HistoryRows merge_history(std::vector<HistoryRows> parts, std::vector<proto::MasterRow> missing,
                          size_t rows_max);

// "2026-11-23 04:05:06", in local time.
std::string local_time(Time time);

}  // namespace proffer::sdk
