#include "slave/shell/disk_reserve.h"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "net/fd.h"

namespace proffer::agent {
namespace {

struct Disk {
  int64_t bytes = 0;
  int64_t free_bytes = 0;
};

Disk disk_of(const std::string& directory) {
  struct statvfs disk = {};
  if (statvfs(directory.c_str(), &disk) != 0) return {};
  const auto unit = static_cast<int64_t>(disk.f_frsize);
  return {.bytes = static_cast<int64_t>(disk.f_blocks) * unit,
          .free_bytes = static_cast<int64_t>(disk.f_bavail) * unit};
}

}  // namespace

DiskReserve::DiskReserve(const std::string& work_dir, int64_t to_stay_free)
    : work_dir_(work_dir), path_(work_dir + "/reserve") {
  constexpr int64_t kPart = 16;
  const int64_t most = disk_of(work_dir).bytes / kPart;
  to_stay_free_ = std::min(to_stay_free, most);
  held_bytes_ = std::min(kHeldBytesMax, most);
  is_held_ = access(path_.c_str(), F_OK) == 0;  // of an earlier life
}

DiskReserve::Space DiskReserve::look() {
  // A little more must be free to leave than to enter, so that it does not flap.
  constexpr int64_t kQuarters = 4;
  const int64_t free_bytes = disk_of(work_dir_).free_bytes;
  const int64_t wanted =
      to_stay_free_ + (is_low_ ? to_stay_free_ / kQuarters : 0) + (is_held_ ? 0 : held_bytes_);
  is_low_ = free_bytes < wanted;
  return {.free_bytes = free_bytes, .is_low = is_low_};
}

void DiskReserve::hold() {
  if (is_held_) return;
  const Fd file(open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  is_held_ = file.get() >= 0 && posix_fallocate(file.get(), 0, held_bytes_) == 0;
  if (!is_held_) unlink(path_.c_str());
}

bool DiskReserve::give_up() {
  if (!std::exchange(is_held_, false)) return false;
  return unlink(path_.c_str()) == 0;
}

}  // namespace proffer::agent
