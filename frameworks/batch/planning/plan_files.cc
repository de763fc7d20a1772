#include "frameworks/batch/planning/plan_files.h"

#include <algorithm>
#include <optional>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/text.h"

namespace proffer::batch {
namespace {

std::string words(int error_number) {
  const char* known = ::strerrordesc_np(error_number);
  return known != nullptr ? known : "unknown error";
}

// Written from beginning to end; close() returns the first error.
class PlanFile {
 public:
  explicit PlanFile(std::string path, mode_t mode = 0666)
      : path_(std::move(path)),
        fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)) {
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
  // Makes the file durable, so that tasks on any machine find all of it.
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

Result<void> write_whole(const std::string& path, std::string_view bytes, mode_t mode) {
  PlanFile file(path, mode);
  file.write(bytes);
  return std::move(file).close();
}

Result<void> write_plan_files(const std::string& directory, const std::vector<Split>& splits,
                              const std::vector<std::string>& arguments,
                              const ShippedFiles& files) {
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
  return write_whole(directory + "/index", index);
}

}  // namespace proffer::batch
