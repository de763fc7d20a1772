#pragma once

// The output files of a task, fetched from its agent.

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "common/result.h"
#include "proto/status.h"

namespace proffer::cli {

// Streams a file of the task's sandbox to `write` until its end, with `follow` until the task has
// ended. Blocks; `cancelled` ends it within a second. Errors: kUnavailable (the agent does not
// answer), kNotFound (no such file).
Result<void> stream_file(const proto::TaskRow& task, std::string_view file, bool follow,
                         const std::function<void(std::string_view)>& write,
                         const std::atomic<bool>& cancelled);

}  // namespace proffer::cli
