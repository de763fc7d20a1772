// The dynamic linker resolves accept4() to this function instead of the C library's, also for
// libraries.

#include "net/accept_guard.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <mutex>
#include <optional>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/text.h"
#include "net/allowances.h"
#include "net/peer_process.h"

namespace proffer {
namespace {

std::atomic<bool> is_guarded = false;
std::atomic<int> reserve = -1;  // none while it is in use, or if it could not be opened again
// libzmq's thread accepts connections; the loop's thread finds unknown peers.
std::mutex mutex;
// Guarded by mutex.
Allowances strangers({.burst = kStrangersBurst, .per_second = kStrangersPerSecond});
Allowances users({.burst = kArrivalsBurst,
                  .per_second = kArrivalsPerSecond,
                  .debt_max = kMisusedArrivals});  // guarded by mutex
std::atomic<bool> has_strangers = false;           // at least one was found
std::atomic<uint64_t> refused_strangers = 0;
std::atomic<uint64_t> refused_users = 0;

int open_reserve() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

Time now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return Time::from_nanos(int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec);
}

// In libzmq's form; empty: it is not a TCP connection.
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

bool is_unwelcome_stranger(int fd) {
  if (!has_strangers) return false;
  const std::string address = address_of_peer(fd);
  if (address.empty()) return false;
  const std::lock_guard lock(mutex);
  return !strangers.has_left(address, now());
}

bool is_too_often(int fd) {
  const std::optional<uint32_t> uid = user_of_socket(fd);
  if (!uid || *uid == 0 || *uid == geteuid()) return false;
  const std::string name = text(*uid);
  const std::lock_guard lock(mutex);
  const Time at = now();
  if (!users.has_left(name, at)) return true;
  users.use(name, 1, at);
  return false;
}

bool is_unwelcome(int fd) {
  if (!is_guarded) return false;
  if (is_unwelcome_stranger(fd)) {
    ++refused_strangers;
    return true;
  }
  if (is_too_often(fd)) {
    ++refused_users;
    return true;
  }
  return false;
}

}  // namespace

void guard_accept() {
  if (!is_guarded.exchange(true)) reserve = open_reserve();
}

void note_stranger(const std::string& address) {
  if (address.empty()) return;
  has_strangers = true;
  const std::lock_guard lock(mutex);
  strangers.use(address, 1, now());
}

void charge_arrivals(uint32_t uid, int64_t count) {
  const std::lock_guard lock(mutex);
  users.use(text(uid), count, now());
}

ConnectionsRefused connections_refused() {
  return {.of_strangers = refused_strangers, .of_users = refused_users};
}

}  // namespace proffer

extern "C" int accept4(int listening, sockaddr* address, socklen_t* bytes, int flags) {
  const auto accept_now = [&] {
    return static_cast<int>(syscall(SYS_accept4, listening, address, bytes, flags));
  };
  const int accepted = accept_now();
  if (accepted >= 0 && proffer::is_unwelcome(accepted)) {
    close(accepted);
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
