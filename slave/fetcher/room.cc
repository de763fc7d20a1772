#include "slave/fetcher/room.h"

#include <cerrno>
#include <cstring>

#include <sys/statvfs.h>
#include <unistd.h>

#include "common/text.h"

namespace proffer::fetcher {
namespace {

constexpr int64_t kLookEvery = int64_t{8} << 20;
constexpr int64_t kBytesPerMib = int64_t{1} << 20;

}  // namespace

Result<void> Room::take(size_t bytes) {
  const auto size = static_cast<int64_t>(bytes);
  if (size > left_) {
    return Error::resource_exhausted(text("it is larger than the ", bytes_max_ / kBytesPerMib,
                                          " MiB that are allowed for all files of a task here"))
        .with_hint("the limit is --fetch_max of the agent");
  }
  until_look_ -= size;
  if (until_look_ < 0) {
    struct statvfs disk = {};
    if (fstatvfs(directory_, &disk) == 0) {
      const int64_t free_bytes =
          static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize);
      if (free_bytes - size < reserve_) {
        return Error::resource_exhausted(
            text("the disk of the agent is full: ", free_bytes / kBytesPerMib, " MiB are free, ",
                 reserve_ / kBytesPerMib, " MiB must stay free"));
      }
    }
    until_look_ = kLookEvery;
  }
  left_ -= size;
  return {};
}

Result<void> write_at(int fd, const void* bytes, size_t size, int64_t offset) {
  const char* next = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = pwrite(fd, next, size, offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const std::string message = text("it cannot be written: ", std::strerror(errno));
      return errno == ENOSPC || errno == EDQUOT ? Error::resource_exhausted(message)
                                                : Error::unavailable(message);
    }
    next += written;
    size -= static_cast<size_t>(written);
    offset += written;
  }
  return {};
}

}  // namespace proffer::fetcher
