#pragma once

// What lies in the output directory of an array before its last task has indexed it: the ends of
// its elements (ElementEnd in work.h), in lanes.

#include <functional>
#include <string>
#include <vector>

#include "common/result.h"
#include "frameworks/batch/core/results.h"

namespace proffer::batch {

// The names in a directory, rising. Errors: kNotFound, kUnavailable from the system.
Result<std::vector<std::string>> names_in(const std::string& directory);

// The lanes that tasks have had, rising. Errors: those of names_in.
Result<std::vector<uint32_t>> lanes_of(const std::string& output);

// Calls `take` with each end that the job's tasks have kept. Errors: kUnavailable from the system;
// then some may have been overlooked.
Result<void> read_ends(const std::string& output, const std::function<void(const KeptEnd&)>& take);

}  // namespace proffer::batch
