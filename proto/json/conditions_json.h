#pragma once

// What is wrong in a cluster, as a member of the status in JSON. The rules of json.h hold.

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "proto/conditions.h"
#include "proto/json/json_shape.h"

namespace proffer::proto {

// What status_json() said, with
// {"conditions":[{"condition","severity","object","message","since_s", "command"}]} at its end.
std::string status_with_conditions(std::string status, const std::vector<ConditionRow>& rows);
// Of such a status. A master of before has none.
Result<std::vector<ConditionRow>> parse_conditions(std::string_view json);

JsonShape status_with_conditions_shape();

}  // namespace proffer::proto
