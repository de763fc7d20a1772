#pragma once

// The output directory of an array before its last task has indexed it: the ends of its elements
// (ElementEnd in work.h), in lanes.

#include <functional>
#include <string>
#include <vector>

#include "common/result.h"
#include "frameworks/batch/core/results.h"

namespace proffer::batch {

// The names in a directory, sorted. Errors: kNotFound, kUnavailable from the system.
Result<std::vector<std::string>> names_in(const std::string& directory);

// The lanes that tasks have used, rising. Errors: those of names_in.
Result<std::vector<uint32_t>> lanes_of(const std::string& output);

// Calls `take` with each end that the job's tasks have stored. Errors: kUnavailable from the
// system; then some ends may be missing.
Result<void> read_ends(const std::string& output, const std::function<void(const KeptEnd&)>& take);

}  // namespace proffer::batch
