#pragma once

// ~{NAME} in the values of a job file.

#include <map>
#include <string>

#include "common/result.h"
#include "yaml/document.h"

namespace proffer::batch {

// Replaces each ~{NAME} in the texts below `node`, keys not, by its value; ~~{ becomes ~{. Text
// that was put in is not searched again. Errors: kInvalidArgument with line and key for a name that
// is not known, naming the nearest, and if more than `room` bytes come of it; lowered by them.
inline constexpr size_t kFilledBytesMax = size_t{4} << 20;
Result<void> fill_in(yaml::Node& node, const std::string& key,
                     const std::map<std::string, std::string>& values, size_t& room);

}  // namespace proffer::batch
