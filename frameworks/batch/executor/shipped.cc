// The shipped files of a job in the sandbox of a task: `write_files`. Small ones are written, large
// ones are links to the copies beside the job's plan (ADR 0103).

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "frameworks/batch/executor/posix.h"
#include "frameworks/batch/executor/task.h"

namespace proffer::batch {
namespace {

Result<void> write_file(const std::string& path, std::string_view content) {
  Result<Fd> file = open_to_write(path, 0755);
  if (!file) return std::move(file).error();
  const WriteOutcome written = write_all(file->get(), content);
  if (written.error) return *written.error;
  return {};
}

// Checks that the copy is the file that was submitted; else the task fails.
Result<void> check_copy(const std::string& copy, const LargeFile& file) {
  struct stat seen = {};
  if (::stat(copy.c_str(), &seen) != 0) {
    if (errno != ENOENT) return system_error(text("its copy ", quoted(copy)), errno);
    return Error::not_found(text("its copy ", quoted(copy), " no longer exists"));
  }
  if (S_ISREG(seen.st_mode) && seen.st_size == file.bytes &&
      seen.st_mtim.tv_sec == file.modified_s) {
    return {};
  }
  return Error::corruption(
      text("its copy ", quoted(copy), " was changed: it has ", seen.st_size, " bytes instead of ",
           file.bytes, seen.st_size == file.bytes ? " with another modification time" : ""));
}

// Replaces the link of an earlier task in the same sandbox.
Result<void> link_to(const std::string& copy, const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return system_error(text("removing ", quoted(path)), errno);
  }
  if (::symlink(copy.c_str(), path.c_str()) == 0) return {};
  return system_error(text("linking ", quoted(path)), errno);
}

}  // namespace

Result<void> write_files(const WorkCommon& common, const TaskSetting& setting) {
  const Result<std::string> entry = read_plan(common, common.maps);
  if (!entry) return entry.error();
  const Result<ShippedFiles> files = decode_files(*entry);
  if (!files) return files.error();
  const auto told = [](Error error, std::string_view name) {
    return std::move(error).in(text("shipped file ", quoted(name)));
  };
  for (const auto& [name, content] : files->contents) {
    Result<void> written = write_file(text(setting.sandbox, "/", name), content);
    if (!written) return told(std::move(written).error(), name);
  }
  const std::string directory = plan_directory(common.output, common.plan);
  for (const auto& [name, file] : files->large) {
    const std::string copy = large_file_path(directory, name);
    Result<void> ready = check_copy(copy, file);
    if (ready) ready = link_to(copy, text(setting.sandbox, "/", name));
    if (!ready) return told(std::move(ready).error(), name);
  }
  return {};
}

}  // namespace proffer::batch
