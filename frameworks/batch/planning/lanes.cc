#include "frameworks/batch/planning/lanes.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/text.h"

namespace proffer::batch {
namespace {

constexpr size_t kEntriesAtOnce = 1'024;

Error system_error(const std::string& path, int error_number) {
  const char* words = ::strerrordesc_np(error_number);
  std::string message =
      text("reading ", quoted(path), ": ", words != nullptr ? words : "unknown error");
  if (error_number == ENOENT) return Error::not_found(std::move(message));
  return Error::unavailable(std::move(message));
}

struct OpenFile {
  explicit OpenFile(const std::string& path)
      : fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)) {}
  ~OpenFile() {
    if (fd >= 0) ::close(fd);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  const int fd;
};

Result<void> read_lane(const std::string& path, uint32_t lane, std::string& buffer,
                       const std::function<void(const KeptEnd&)>& take) {
  const OpenFile file(path);
  if (file.fd < 0) return system_error(path, errno);
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(file.fd, buffer.data(), buffer.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(path, errno);
    const size_t whole = static_cast<size_t>(got) / kElementEndBytes * kElementEndBytes;
    if (whole == 0) return {};  // A killed task may have left a partial entry.
    for (size_t i = 0; i < whole; i += kElementEndBytes) {
      const Result<ElementEnd> end =
          decode_element_end(std::string_view(buffer).substr(i, kElementEndBytes));
      if (end && end->position != kTidyMark) take({.lane = lane, .end = *end});
    }
    at += static_cast<off_t>(whole);
  }
}

}  // namespace

Result<std::vector<std::string>> names_in(const std::string& directory) {
  struct Close {
    void operator()(DIR* opened) const { ::closedir(opened); }
  };
  const std::unique_ptr<DIR, Close> opened(::opendir(directory.c_str()));
  if (opened == nullptr) return system_error(directory, errno);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;  // This distinguishes its end from an error.
    const dirent* entry = ::readdir(opened.get());
    if (entry == nullptr && errno != 0) return system_error(directory, errno);
    if (entry == nullptr) break;
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<uint32_t>> lanes_of(const std::string& output) {
  const Result<std::vector<std::string>> names = names_in(output + "/_temporary");
  if (!names) return names.error();
  std::vector<uint32_t> lanes;
  for (const std::string& name : *names) {
    if (const std::optional<uint32_t> lane = parse_lane_index(name)) lanes.push_back(*lane);
  }
  std::sort(lanes.begin(), lanes.end());
  return lanes;
}

Result<void> read_ends(const std::string& output, const std::function<void(const KeptEnd&)>& take) {
  const Result<std::vector<uint32_t>> lanes = lanes_of(output);
  if (!lanes) return lanes.error();
  std::string buffer(kEntriesAtOnce * kElementEndBytes, '\0');
  for (const uint32_t lane : *lanes) {
    const std::string path = lane_path(output, LaneFile::kIndex, lane);
    if (Result<void> ok = read_lane(path, lane, buffer, take); !ok) return ok;
  }
  return {};
}

}  // namespace proffer::batch
