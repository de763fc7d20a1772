// A part of the job's output: written under _temporary/<task>/, then put in place atomically.

#include <algorithm>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "frameworks/batch/executor/posix.h"
#include "frameworks/batch/executor/task.h"

namespace proffer::batch {
namespace {

std::string attempt_directory(const WorkCommon& common, const TaskSetting& setting) {
  return text(common.output, "/_temporary/", setting.task);
}

}  // namespace

Result<void> write_part(const WorkCommon& common, const TaskSetting& setting, int from,
                        TaskResult& result) {
  const std::string directory = attempt_directory(common, setting);
  if (::mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST) {
    Error error = system_error(text("making ", quoted(directory)), errno);
    return std::move(error).with_hint("the output directory must be the same on all agents");
  }
  Result<Fd> file = open_to_write(text(directory, "/", part_name(common.number)));
  if (!file) return std::move(file).error();

  std::string buffer(256 * 1024, '\0');
  char last = '\n';
  const auto put = [&](std::string_view bytes) -> Result<void> {
    if (WriteOutcome written = write_all(file->get(), bytes); written.error) {
      return std::move(*written.error).in(text("output ", quoted(part_name(common.number))));
    }
    result.records_out += std::count(bytes.begin(), bytes.end(), '\n');
    result.bytes_out += static_cast<int64_t>(bytes.size());
    last = bytes.back();
    return {};
  };
  for (;;) {
    const Result<size_t> got = read_some(from, buffer.data(), buffer.size());
    if (!got) return got.error();
    if (*got == 0) break;
    if (Result<void> ok = put(std::string_view(buffer.data(), *got)); !ok) return ok;
  }
  // Parts are concatenated, so the next one's first line must not continue our last.
  if (last != '\n') {
    if (Result<void> ok = put("\n"); !ok) return ok;
  }
  if (::fsync(file->get()) != 0 && errno != EINVAL && errno != EROFS) {
    return system_error(text("writing ", quoted(part_name(common.number)), " to disk"), errno);
  }
  return {};
}

Result<void> commit_part(const WorkCommon& common, const TaskSetting& setting) {
  const std::string name = part_name(common.number);
  const std::string directory = attempt_directory(common, setting);
  const std::string aside = text(directory, "/", name);
  const std::string place = text(common.output, "/", name);
  // If the job's directory was set aside meanwhile, its place may belong to another job.
  if (::access(plan_directory(common.output, common.plan).c_str(), F_OK) != 0) {
    return system_error(text("looking for the job's plan in ", quoted(common.output)), errno);
  }
  // A link does not replace: the first attempt here stays, even if its update was lost.
  if (::link(aside.c_str(), place.c_str()) != 0 && errno != EEXIST) {
    const bool no_links = errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS ||
                          errno == EMLINK || errno == EXDEV;
    if (!no_links) return system_error(text("putting ", quoted(place), " in place"), errno);
    // A file system without links: the last attempt stays. All are equal if the command is a
    // function of its input.
    if (::rename(aside.c_str(), place.c_str()) != 0) {
      return system_error(text("putting ", quoted(place), " in place"), errno);
    }
  }
  ::unlink(aside.c_str());
  ::rmdir(directory.c_str());
  return {};
}

}  // namespace proffer::batch
