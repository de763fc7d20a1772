#pragma once

// ~{NAME} in the values of a job file.

#include <map>
#include <string>

#include "common/result.h"
#include "yaml/document.h"

namespace proffer::batch {

// Replaces each ~{NAME} in the texts below `node` by its value, except in keys; ~~{ becomes ~{.
// Inserted text is not searched again. Errors: kInvalidArgument with line and key for an unknown
// name (with the nearest), and if the result has more than `room` bytes; `room` is lowered by the
// result.
inline constexpr size_t kFilledBytesMax = size_t{4} << 20;
Result<void> fill_in(yaml::Node& node, const std::string& key,
                     const std::map<std::string, std::string>& values, size_t& room);

}  // namespace proffer::batch
