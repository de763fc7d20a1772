// The output directory's life: prepare, then commit or abandon.

#include "frameworks/batch/shell/output.h"

#include <filesystem>
#include <system_error>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "frameworks/batch/core/work.h"

namespace proffer::batch {
namespace {

std::string words(int error_number) {
  const char* known = ::strerrordesc_np(error_number);
  return known != nullptr ? known : "unknown error";
}

bool exists(const std::string& path) {
  struct stat seen = {};
  return ::stat(path.c_str(), &seen) == 0;
}

}  // namespace

Result<OutputDirectory> OutputDirectory::prepare(std::string path) {
  if (::mkdir(path.c_str(), 0777) != 0) {
    const int error_number = errno;
    if (error_number == EEXIST) {
      Error error = Error::already_exists(text("output ", quoted(path), " exists already"));
      if (exists(path + "/_temporary") && !exists(path + "/_SUCCESS")) {
        return std::move(error).with_hint(
            "it is of a job that runs or was cut off; if it does not run, remove it");
      }
      return std::move(error).with_hint("remove it, or name another with --output");
    }
    if (error_number == ENOENT) {
      return Error::not_found(
                 text("the directory that output ", quoted(path), " would be in does not exist"))
          .with_hint(text("mkdir -p ", path.substr(0, path.rfind('/'))));
    }
    return Error::unavailable(text("making output ", quoted(path), ": ", words(error_number)));
  }
  OutputDirectory output(std::move(path));
  if (::mkdir((output.path_ + "/_temporary").c_str(), 0777) != 0) {
    const int error_number = errno;
    output.abandon();
    return Error::unavailable(
        text("making output ", quoted(output.path_), ": ", words(error_number)));
  }
  return output;
}

Result<void> OutputDirectory::commit(int64_t parts) {
  for (int64_t i = 0; i < parts; ++i) {
    const std::string part = text(path_, "/", part_name(static_cast<uint32_t>(i)));
    if (exists(part)) continue;
    return Error::failed_precondition(
               text("all tasks finished, but ", quoted(part), " is not there"))
        .with_hint("input and output must be the same directories on all agents and here");
  }
  const std::string marker = path_ + "/_SUCCESS";
  const int fd = ::open(marker.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return Error::unavailable(text("making ", quoted(marker), ": ", words(errno)));
  ::close(fd);
  // What a task that was given up has there is of no use; what cannot be removed does no harm.
  std::error_code ignored;
  std::filesystem::remove_all(path_ + "/_temporary", ignored);
  return {};
}

void OutputDirectory::abandon() {
  // A task may be writing while we remove: until nothing is left, or it cannot be helped.
  for (int round = 0; round < 10 && exists(path_); ++round) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

}  // namespace proffer::batch
