// This program's accept4() comes before that of the C library, also for the libraries that it
// uses: the dynamic linker looks here first.

#include "net/accept_guard.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <mutex>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "net/strangers.h"

namespace proffer {
namespace {

std::atomic<bool> is_guarded = false;
std::atomic<int> reserve = -1;  // none while it is in use, or could not be opened again
// Connections are accepted by libzmq's thread, and strangers found in the loop's.
std::mutex mutex;
Strangers strangers;                         // under mutex
std::atomic<bool> has_strangers = false;     // there was one
std::atomic<uint64_t> connections_shut = 0;  // of strangers

int open_reserve() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

Time now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return Time::from_nanos(int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec);
}

// As libzmq names it; empty: it is no TCP connection.
std::string address_of_peer(int fd) {
  sockaddr_storage peer{};
  socklen_t bytes = sizeof peer;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &bytes) != 0) return {};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (peer.ss_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&peer);
    inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size());
  } else if (peer.ss_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&peer);
    inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), text.size());
  }
  return text.data();
}

bool is_unwelcome(int fd) {
  if (!has_strangers) return false;
  const std::string address = address_of_peer(fd);
  if (address.empty()) return false;
  const std::lock_guard lock(mutex);
  return !strangers.may_come(address, now());
}

}  // namespace

void guard_accept() {
  if (!is_guarded.exchange(true)) reserve = open_reserve();
}

void note_stranger(const std::string& address) {
  if (address.empty()) return;
  has_strangers = true;
  const std::lock_guard lock(mutex);
  strangers.refused(address, now());
}

uint64_t strangers_shut() { return connections_shut; }

}  // namespace proffer

extern "C" int accept4(int listening, sockaddr* address, socklen_t* bytes, int flags) {
  const auto accept_now = [&] {
    return static_cast<int>(syscall(SYS_accept4, listening, address, bytes, flags));
  };
  const int accepted = accept_now();
  if (accepted >= 0 && proffer::is_unwelcome(accepted)) {
    close(accepted);
    ++proffer::connections_shut;
    errno = ECONNABORTED;
    return -1;
  }
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
