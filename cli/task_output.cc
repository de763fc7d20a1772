#include "cli/task_output.h"

#include "common/text.h"
#include "net/http_get.h"

namespace proffer::cli {

std::string file_target(const FrameworkId& framework, const TaskId& task, std::string_view file) {
  return percent_encoded(text("/v1/files/", framework.str(), "/", task.str(), "/", file));
}

Result<HttpPlace> find_files(FilePlaces& places, const proto::TaskRow& task) {
  if (task.agent.empty()) {
    return Error::failed_precondition(text("task ", quoted(task.task.str()), " has no agent"));
  }
  return places.find(task.framework, task.agent, task.http_address);
}

Result<void> stream_file(FilePlaces& places, const proto::TaskRow& task, std::string_view file,
                         bool follow, const std::function<void(std::string_view)>& write) {
  const Result<HttpPlace> place = find_files(places, task);
  if (!place) return place.error();
  const std::string target =
      file_target(task.framework, task.task, file) + (follow ? "?follow=1" : "");
  Result<HttpAnswer> answer = http_get(*place, target, write, {});
  const std::string agent = text("agent ", quoted(task.agent.str()));
  if (!answer) {
    return std::move(answer).error().in(text("cannot read ", quoted(file), " from ", agent));
  }
  if (answer->status == 404) {
    return Error::not_found(
        text("task ", quoted(task.task.str()), " has no file ", quoted(file), " on ", agent));
  }
  if (answer->status == 401 || answer->status == 403) {
    return Error::permission_denied(text(agent, ": ", trimmed(answer->reason)));
  }
  if (answer->status >= 300) {
    return Error::internal(text(agent, " answered ", answer->status, ": ", answer->reason));
  }
  return {};
}

}  // namespace proffer::cli
