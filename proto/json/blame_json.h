#pragma once

// Blame in JSON. The rules of json.h apply. The arguments are an ExplainCall.

#include <string>
#include <string_view>

#include "common/result.h"
#include "proto/blame.h"
#include "proto/json/json_shape.h"

namespace proffer::proto {

JsonShape blame_shape();
std::string blame_json(const Blame& blame);  // the object itself
Result<Blame> parse_blame(std::string_view json);

}  // namespace proffer::proto
