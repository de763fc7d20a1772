#pragma once

// Writes the files of a plan (core/plan.h): for the CLI, or for the first task of the job. They are
// durable, so that tasks on any machine find them complete.

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "common/result.h"
#include "frameworks/batch/core/plan.h"

namespace proffer::batch {

// Makes a new file. Errors: kUnavailable with the system's words.
Result<void> write_whole(const std::string& path, std::string_view bytes, mode_t mode = 0666);

// Writes `index` and `entries` into a directory that exists and has neither. Errors: kUnavailable
// with the system's words.
Result<void> write_plan_files(const std::string& directory, const std::vector<Split>& splits,
                              const std::vector<std::string>& arguments, const ShippedFiles& files);

}  // namespace proffer::batch
