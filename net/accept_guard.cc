// This program's accept4() comes before that of the C library, also for the libraries that it
// uses: the dynamic linker looks here first.

#include "net/accept_guard.h"

#include <atomic>
#include <cerrno>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace proffer {
namespace {

std::atomic<bool> is_guarded = false;
std::atomic<int> reserve = -1;  // none while it is in use, or could not be opened again

int open_reserve() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

}  // namespace

void guard_accept() {
  if (!is_guarded.exchange(true)) reserve = open_reserve();
}

}  // namespace proffer

extern "C" int accept4(int listening, sockaddr* address, socklen_t* bytes, int flags) {
  const auto accept_now = [&] {
    return static_cast<int>(syscall(SYS_accept4, listening, address, bytes, flags));
  };
  const int accepted = accept_now();
  if (accepted >= 0 || errno != EMFILE || !proffer::is_guarded) return accepted;
  const int reserved = proffer::reserve.exchange(-1);
  if (reserved >= 0) close(reserved);
  const int shed = accept_now();
  if (shed >= 0) close(shed);
  const int opened = proffer::open_reserve();
  const int other = proffer::reserve.exchange(opened);
  if (other >= 0) close(other);
  errno = ECONNABORTED;
  return -1;
}
