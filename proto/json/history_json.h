#pragma once

// Pages of the master's history in JSON. The rules of json.h apply.

#include <string>
#include <string_view>

#include "common/result.h"
#include "proto/history.h"
#include "proto/json/json_shape.h"

namespace proffer::proto {

// {"framework","role","user","task","state","since_s","roles","master","before","limit"}; all
// members are optional.
JsonShape history_query_shape();
std::string history_query_json(const HistoryQuery& query);
Result<HistoryQuery> parse_history_query(std::string_view json);

// {"tasks":[{"framework","name","task","role","user","agent","ask","command","amounts","state",
// "reason","message","exit_code","signal","usage","launched_at_s","ended_at_s"}],
// "roles":[{"role","from_s","until_s","seconds"}],"gaps":[{"from_s","until_s","lost"}],
// "damaged_bytes","missing"}; `missing` as in masters_json.h.
JsonShape history_page_shape();
std::string history_page_json(const HistoryPage& page);
Result<HistoryPage> parse_history_page(std::string_view json);

}  // namespace proffer::proto
