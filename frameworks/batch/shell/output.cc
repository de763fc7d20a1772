// The output directory before its job: prepare and write_plan, or abandon.

#include "frameworks/batch/shell/output.h"

#include <algorithm>
#include <filesystem>
#include <optional>
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

// Written from begin to end; what goes wrong first is told by close().
class PlanFile {
 public:
  explicit PlanFile(std::string path)
      : path_(std::move(path)),
        fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
    check(fd_ >= 0);
  }
  ~PlanFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  PlanFile(const PlanFile&) = delete;
  PlanFile& operator=(const PlanFile&) = delete;

  void write(std::string_view bytes) {
    buffer_ += bytes;
    if (buffer_.size() >= kBufferBytes) flush();
  }
  // The tasks find all of it, on whatever machine they are.
  Result<void> close() && {
    flush();
    if (!error_number_) check(::fsync(fd_) == 0 || errno == EINVAL || errno == EROFS);
    if (!error_number_) return {};
    return Error::unavailable(text("writing ", quoted(path_), ": ", words(*error_number_)));
  }

 private:
  static constexpr size_t kBufferBytes = 256 * 1024;

  void check(bool is_ok) {
    if (!is_ok && !error_number_) error_number_ = errno;
  }
  void flush() {
    std::string_view rest = buffer_;
    while (!rest.empty() && !error_number_) {
      const ssize_t written = ::write(fd_, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      check(written >= 0);
      if (written > 0) rest.remove_prefix(static_cast<size_t>(written));
    }
    buffer_.clear();
  }

  const std::string path_;
  const int fd_;
  std::string buffer_;
  std::optional<int> error_number_ = {};
};

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

Result<void> OutputDirectory::write_plan(const std::string& name, const std::vector<Split>& splits,
                                         const std::vector<std::string>& arguments,
                                         const ShippedFiles& files) {
  const std::string directory = plan_directory(path_, name);
  if (::mkdir(directory.c_str(), 0777) != 0) {
    return Error::unavailable(text("making ", quoted(directory), ": ", words(errno)));
  }
  PlanFile entries(directory + "/entries");
  std::string index;
  int64_t offset = 0;
  const auto add = [&](const std::string& entry) {
    index += encode_index_entry(plan_entry(offset, entry));
    offset += static_cast<int64_t>(entry.size());
    entries.write(entry);
  };
  for (const Split& split : splits) add(encode_split(split));
  for (size_t first = 0; first < arguments.size(); first += kArgumentsPerEntry) {
    const size_t end = std::min<size_t>(first + kArgumentsPerEntry, arguments.size());
    add(encode_arguments({arguments.begin() + static_cast<std::ptrdiff_t>(first),
                          arguments.begin() + static_cast<std::ptrdiff_t>(end)}));
  }
  add(encode_files(files));
  if (Result<void> ok = std::move(entries).close(); !ok) return ok;
  PlanFile index_file(directory + "/index");
  index_file.write(index);
  return std::move(index_file).close();
}

Result<void> OutputDirectory::write_order(const JobOrder& order) {
  PlanFile file(plan_directory(path_, order.plan) + "/order");
  file.write(encode_order(order));
  return std::move(file).close();
}

void OutputDirectory::abandon() {
  // A task may be writing while we remove: until nothing is left, or it cannot be helped.
  for (int round = 0; round < 10 && exists(path_); ++round) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

}  // namespace proffer::batch
