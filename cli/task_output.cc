#include "cli/task_output.h"

#include "common/text.h"
#include "net/http_get.h"

namespace proffer::cli {

std::string file_target(const FrameworkId& framework, const TaskId& task, std::string_view file) {
  return percent_encoded(text("/v1/files/", framework.str(), "/", task.str(), "/", file));
}

Error no_files(const proto::TaskRow& task) {
  if (task.agent.empty()) {
    return Error::failed_precondition(text("task ", quoted(task.task.str()), " is on no agent"));
  }
  return Error::failed_precondition(text("agent ", quoted(task.agent.str()),
                                         " is on another machine than its master, and "
                                         "serves the files of its tasks there only"))
      .with_hint("they are in the folder sandboxes of its --work_dir, for the task's user to read");
}

Result<void> stream_file(const proto::TaskRow& task, std::string_view file, bool follow,
                         const std::function<void(std::string_view)>& write) {
  if (task.http_address.empty()) {
    return no_files(task);
  }
  const std::string target =
      file_target(task.framework, task.task, file) + (follow ? "?follow=1" : "");
  Result<HttpAnswer> answer = http_get(task.http_address, target, write, {});
  const std::string agent = text("agent ", quoted(task.agent.str()));
  if (!answer) {
    return std::move(answer).error().in(text("cannot read ", quoted(file), " from ", agent));
  }
  if (answer->status == 404) {
    return Error::not_found(
        text("task ", quoted(task.task.str()), " has no file ", quoted(file), " on ", agent));
  }
  if (answer->status == 403) {
    return Error::permission_denied(text(agent, ": ", trimmed(answer->reason)));
  }
  if (answer->status >= 300) {
    return Error::internal(text(agent, " answered ", answer->status, ": ", answer->reason));
  }
  return {};
}

}  // namespace proffer::cli
