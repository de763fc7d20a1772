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

// Where an agent serves a file of a task: a target of http_get().
std::string file_target(const FrameworkId& framework, const TaskId& task, std::string_view file);

// Where the agent of the task serves its files. Errors: as FilePlaces::find(), and
// kFailedPrecondition: it is on no agent.
Result<HttpPlace> find_files(FilePlaces& places, const proto::TaskRow& task);

// Streams a file of the task's sandbox to `write` until its end, with `follow` until the task has
// ended. Blocks. Errors: kUnavailable (the agent does not answer), kNotFound (no such file),
// kPermissionDenied (it is of another user, or the server is not that agent).
Result<void> stream_file(FilePlaces& places, const proto::TaskRow& task, std::string_view file,
                         bool follow, const std::function<void(std::string_view)>& write);

}  // namespace proffer::cli
