#pragma once

// The problems of a cluster as a member of the status in JSON. The rules of json.h apply.

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "proto/conditions.h"
#include "proto/json/json_shape.h"

namespace proffer::proto {

// The text of status_json() with
// {"conditions":[{"condition","severity","object","message","since_s", "command"}]} at its end.
std::string status_with_conditions(std::string status, const std::vector<ConditionRow>& rows);
// Reads the conditions of such a status. A master of an earlier version sends none.
Result<std::vector<ConditionRow>> parse_conditions(std::string_view json);

JsonShape status_with_conditions_shape();

}  // namespace proffer::proto
