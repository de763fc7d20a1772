#pragma once

// A live cluster in pages: each is one JSON object with some of its rows, and one reply long.
// Amounts, quotas, constraints and reservations are in the text forms that people type.

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "proto/json/json_shape.h"
#include "proto/live_snapshot.h"

namespace proffer::proto {

// At least one; each of at most kReplyRowsMax rows, and of kJsonBytesMax bytes.
std::vector<std::string> live_snapshot_pages(const LiveSnapshot& snapshot);
// Adds the rows of a page. Errors: kInvalidArgument, it is none.
Result<void> parse_live_snapshot_page(std::string_view json, LiveSnapshot& into);

// Which page: "" for the first, which takes a new snapshot. {"after"}
std::string live_snapshot_call_json(std::string_view after);
Result<std::string> parse_live_snapshot_call(std::string_view json);

JsonShape live_snapshot_call_shape();
JsonShape live_snapshot_shape();  // of a page

}  // namespace proffer::proto
