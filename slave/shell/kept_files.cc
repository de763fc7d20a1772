#include "slave/shell/kept_files.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace proffer::agent {
namespace {

constexpr size_t kBytesMax = size_t{1} << 20;

}  // namespace

int KeptFiles::find(const std::string& path, Use use, Fd& own) {
  const auto kept = files_.find({path, use});
  if (kept != files_.end()) return kept->second.get();
  own = Fd(open(path.c_str(), (use == Use::kRead ? O_RDONLY : O_WRONLY) | O_CLOEXEC));
  if (own.get() < 0 || files_.size() >= max_) return own.get();
  return files_.emplace(std::pair(path, use), std::move(own)).first->second.get();
}

// seq_file may return less than the rest at the end of its buffer, so only a read that leaves half
// of the buffer empty counts as the last.
std::optional<std::string> KeptFiles::read(const std::string& path) {
  Fd own;
  const int file = find(path, Use::kRead, own);
  if (file < 0) return std::nullopt;
  std::string bytes;
  char buffer[4096];
  while (bytes.size() < kBytesMax) {
    const ssize_t n = pread(file, buffer, sizeof buffer, static_cast<off_t>(bytes.size()));
    if (n < 0) return std::nullopt;
    bytes.append(buffer, static_cast<size_t>(n));
    if (static_cast<size_t>(n) < sizeof buffer / 2) break;
  }
  return bytes;
}

int KeptFiles::write(const std::string& path, std::string_view value) {
  Fd own;
  const int file = find(path, Use::kWrite, own);
  if (file < 0) return errno;
  return pwrite(file, value.data(), value.size(), 0) < 0 ? errno : 0;
}

void KeptFiles::forget(const std::string& folder) {
  const std::string below = folder + "/";
  auto at = files_.lower_bound({below, Use::kRead});
  while (at != files_.end() && at->first.first.starts_with(below)) at = files_.erase(at);
}

}  // namespace proffer::agent
