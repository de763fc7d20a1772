#include "slave/shell/disk_reserve.h"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "net/fd.h"

namespace proffer::agent {
namespace {

// At most 1/16 of a disk is kept free.
constexpr int64_t kPart = 16;

// Whether the file has allocated blocks for this size, not only the size.
bool holds(const std::string& path, int64_t bytes) {
  constexpr int64_t kStatBlockBytes = 512;
  struct stat found = {};
  return lstat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
         found.st_blocks * kStatBlockBytes >= bytes;
}

}  // namespace

DiskRoom disk_room(const std::string& path) {
  struct statvfs disk = {};
  if (statvfs(path.c_str(), &disk) != 0) return {};
  const auto unit = static_cast<int64_t>(disk.f_frsize);
  return {.bytes = static_cast<int64_t>(disk.f_blocks) * unit,
          .free_bytes = static_cast<int64_t>(disk.f_bavail) * unit,
          .files = static_cast<int64_t>(disk.f_files),
          .free_files = disk.f_files == 0 ? INT64_MAX : static_cast<int64_t>(disk.f_favail)};
}

int64_t files_to_stay_free(const DiskRoom& disk) {
  return std::min(kFilesToStayFree, disk.files / kPart);
}

DiskReserve::DiskReserve(const std::string& work_dir, int64_t to_stay_free)
    : work_dir_(work_dir), path_(work_dir + "/reserve") {
  const DiskRoom disk = disk_room(work_dir);
  const int64_t most = disk.bytes / kPart;
  to_stay_free_ = std::min(to_stay_free, most);
  files_to_stay_free_ = to_stay_free > 0 ? agent::files_to_stay_free(disk) : 0;
  held_bytes_ = std::min(kHeldBytesMax, most);
  is_held_ = holds(path_, held_bytes_);  // from an earlier life
}

DiskReserve::Space DiskReserve::look() {
  // Ending the state needs a little more space than entering it, to avoid flapping.
  constexpr int64_t kQuarters = 4;
  const auto raised = [](int64_t least, bool is_low) {
    return least + (is_low ? least / kQuarters : 0);
  };
  const DiskRoom disk = disk_room(work_dir_);
  const int64_t wanted = raised(to_stay_free_, is_low_) + (is_held_ ? 0 : held_bytes_);
  is_low_ = disk.free_bytes < wanted;
  is_low_on_files_ = disk.free_files < raised(files_to_stay_free_, is_low_on_files_);
  return {.free_bytes = disk.free_bytes,
          .free_files = disk.free_files,
          .is_low = is_low_,
          .is_low_on_files = is_low_on_files_};
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
