// Decides which files are large, and copies them. Read `divide_files` and `copy_file` first.

#include "frameworks/batch/shell/large_files.h"

#include <algorithm>
#include <vector>

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "net/fd.h"

namespace proffer::batch {
namespace {

constexpr size_t kCopyBytes = size_t{1} << 20;  // at a time

Error system_error(std::string_view what, int error_number) {
  const char* words = ::strerrordesc_np(error_number);
  std::string message = text(what, ": ", words != nullptr ? words : "unknown error");
  if (error_number == ENOENT) return Error::not_found(std::move(message));
  return Error::unavailable(std::move(message));
}

FileState state_of(const struct stat& seen) {
  return {.bytes = seen.st_size,
          .modified_s = seen.st_mtim.tv_sec,
          .modified_ns = seen.st_mtim.tv_nsec};
}

Result<FileState> look_at(const std::string& path, int fd) {
  struct stat seen = {};
  if (::fstat(fd, &seen) != 0) return system_error(text("reading ", quoted(path)), errno);
  return state_of(seen);
}

// Copies all bytes and returns their number. File systems that support it share the blocks of both
// files.
Result<int64_t> copy_bytes(const std::string& path, int from, const std::string& copy, int to) {
  if (::ioctl(to, FICLONE, from) == 0) {
    const Result<FileState> cloned = look_at(copy, to);
    if (!cloned) return cloned.error();
    return cloned->bytes;
  }
  std::vector<char> buffer(kCopyBytes);
  int64_t copied = 0;
  for (;;) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(text("reading ", quoted(path)), errno);
    if (got == 0) return copied;
    for (ssize_t at = 0; at < got;) {
      const ssize_t put = ::write(to, buffer.data() + at, static_cast<size_t>(got - at));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return system_error(text("copying ", quoted(path), " to ", quoted(copy)), errno);
      at += put;
    }
    copied += got;
    if (copied > kLargeFilesBytesMax) {
      return Error::resource_exhausted(text(quoted(path), " has more than ",
                                            print_bytes(kLargeFilesBytesMax),
                                            ", the maximum that a job can ship"));
    }
  }
}

Result<LargeFile> copy_file(const std::string& path, const std::string& copy) {
  const Fd from(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (from.get() < 0) return system_error(text("reading ", quoted(path)), errno);
  const Result<FileState> before = look_at(path, from.get());
  if (!before) return before.error();
  const Fd to(::open(copy.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (to.get() < 0) return system_error(text("making ", quoted(copy)), errno);
  const Result<int64_t> copied = copy_bytes(path, from.get(), copy, to.get());
  if (!copied) return copied.error();
  const Result<FileState> after = look_at(path, from.get());
  if (!after) return after.error();
  if (Result<void> ok = check_copied(path, *before, *after, *copied); !ok) {
    return std::move(ok).error();
  }
  // Whole seconds, since some file systems have no finer time.
  const LargeFile file{.bytes = *copied, .modified_s = std::max<int64_t>(before->modified_s, 0)};
  const timespec modified = {.tv_sec = file.modified_s, .tv_nsec = 0};
  const timespec times[2] = {modified, modified};
  // Executable, like all shipped files, and read-only, since all tasks share it.
  if (::fchmod(to.get(), 0555) != 0 || ::futimens(to.get(), times) != 0 ||
      (::fsync(to.get()) != 0 && errno != EINVAL && errno != EROFS)) {
    return system_error(text("writing ", quoted(copy)), errno);
  }
  return file;
}

}  // namespace

Result<DividedFiles> divide_files(const std::vector<std::string>& paths) {
  struct Given {
    int64_t bytes = 0;
    std::string name = {};
    std::string path = {};
  };
  std::vector<Given> all;
  std::map<std::string, std::string> names;
  int64_t sum = 0;
  for (const std::string& path : paths) {
    struct stat seen = {};
    if (::stat(path.c_str(), &seen) != 0) {
      return system_error(text("reading ", quoted(path)), errno);
    }
    if (S_ISDIR(seen.st_mode)) {
      return Error::invalid_argument(text(quoted(path), " is a directory"))
          .with_hint(
              "pack it with tar cf NAME.tar DIRECTORY, ship the archive, and unpack it in the "
              "command");
    }
    const std::string name = path.substr(path.rfind('/') + 1);
    const auto [before, is_new] = names.emplace(name, path);
    if (!is_new) {
      return Error::invalid_argument(text("two files to ship have the same name ", quoted(name),
                                          ": ", quoted(before->second), " and ", quoted(path)))
          .with_hint("rename one: the tasks get them in one directory");
    }
    all.push_back({.bytes = S_ISREG(seen.st_mode) ? seen.st_size : 0, .name = name, .path = path});
    if (all.back().bytes > kLargeFilesBytesMax - sum) {
      return Error::resource_exhausted(text("the shipped files have more than ",
                                            print_bytes(kLargeFilesBytesMax), " together, with ",
                                            quoted(path)))
          .with_hint("put large files where all agents can read them, and give their path");
    }
    sum += all.back().bytes;
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Given& a, const Given& b) { return a.bytes < b.bytes; });
  DividedFiles divided;
  int64_t left = static_cast<int64_t>(kShippedBytesMax);
  for (Given& one : all) {
    const bool is_small = one.bytes <= left;
    left = is_small ? left - one.bytes : 0;  // no larger file fits
    (is_small || one.bytes == 0 ? divided.small : divided.large)
        .emplace(std::move(one.name), std::move(one.path));
  }
  return divided;
}

Result<void> check_copied(std::string_view path, const FileState& before, const FileState& after,
                          int64_t copied) {
  if (before == after && copied == before.bytes) return {};
  return Error::unavailable(text(quoted(path), " was changed while it was copied: it had ",
                                 before.bytes, " bytes, ", copied, " were copied, and it has ",
                                 after.bytes))
      .with_hint("submit the job again when no program writes to the file");
}

Result<std::map<std::string, LargeFile>> copy_large_files(
    const std::map<std::string, std::string>& paths, const std::string& plan_directory) {
  const std::string directory = plan_directory + "/files";
  if (::mkdir(directory.c_str(), 0777) != 0) {
    return system_error(text("making ", quoted(directory)), errno);
  }
  std::map<std::string, LargeFile> copied;
  for (const auto& [name, path] : paths) {
    const Result<LargeFile> file = copy_file(path, large_file_path(plan_directory, name));
    if (!file) return file.error();
    copied.emplace(name, *file);
  }
  return copied;
}

}  // namespace proffer::batch
