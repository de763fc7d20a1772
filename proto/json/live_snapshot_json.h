#pragma once

// A live cluster in pages. Each page is one JSON object with some of the rows, and fits into one
// reply. Amounts, quotas, constraints and reservations have the text forms that people type.

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "proto/json/json_shape.h"
#include "proto/live_snapshot.h"

namespace proffer::proto {

// At least one page; each has at most kReplyRowsMax rows and kJsonBytesMax bytes.
std::vector<std::string> live_snapshot_pages(const LiveSnapshot& snapshot);
// Adds the rows of a page. Errors: kInvalidArgument: the text is not a page.
Result<void> parse_live_snapshot_page(std::string_view json, LiveSnapshot& into);

// {"after"}: the page to return; "" returns the first, and takes a new snapshot.
std::string live_snapshot_call_json(std::string_view after);
Result<std::string> parse_live_snapshot_call(std::string_view json);

JsonShape live_snapshot_call_shape();
JsonShape live_snapshot_shape();  // shape of a page

}  // namespace proffer::proto
