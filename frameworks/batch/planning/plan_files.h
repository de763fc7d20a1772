#pragma once

// The files of a plan (core/plan.h), as written by its maker: the CLI, or the first task of the
// job. Durably: tasks find all of it, on any machine.

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "frameworks/batch/core/plan.h"

namespace proffer::batch {

// Makes a file that is not there. Errors: kUnavailable with the system's words.
Result<void> write_whole(const std::string& path, std::string_view bytes);

// `index` and `entries` in a directory that is there and has neither. Errors: kUnavailable with the
// system's words.
Result<void> write_plan_files(const std::string& directory, const std::vector<Split>& splits,
                              const std::vector<std::string>& arguments, const ShippedFiles& files);

}  // namespace proffer::batch
