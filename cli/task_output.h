#pragma once

// The output files of a task, fetched from its agent.

#include <functional>
#include <string>
#include <string_view>

#include "cli/file_places.h"
#include "common/ids.h"
#include "common/result.h"
#include "proto/status.h"

namespace proffer::cli {

// The target of http_get() for a file of a task.
std::string file_target(const FrameworkId& framework, const TaskId& task, std::string_view file);

// The place where the agent of the task serves its files. Errors: as FilePlaces::find(), and
// kFailedPrecondition: the task is on no agent.
Result<HttpPlace> find_files(FilePlaces& places, const proto::TaskRow& task);

// Streams a file of the task's sandbox to `write` until its end, with `follow` until the task has
// ended. Blocks. Errors: kUnavailable (the agent does not answer), kNotFound (no such file),
// kPermissionDenied (it belongs to another user, or the server is not that agent).
Result<void> stream_file(FilePlaces& places, const proto::TaskRow& task, std::string_view file,
                         bool follow, const std::function<void(std::string_view)>& write);

}  // namespace proffer::cli
