#pragma once

// Common code of the net tests: waiting with a deadline, bytes, and plain blocking sockets as
// foreign clients.

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "net/files.h"
#include "net/loop.h"
#include "tests/support/temporary_directory.h"

namespace proffer::net_test {

// Long, for a loaded machine: only a failing test ever waits that long.
inline constexpr Duration kDeadline = seconds(60);

// Users of the tests. An allowance of arrivals (net/allowances.h) is per user and process, so a
// test that uses one up needs its own user.
inline constexpr uid_t kNobody = 65'534;
inline constexpr uid_t kCarelessUser = 65'533;
inline constexpr uid_t kOtherUser = 65'532;

// Runs the loop until `done` holds; false at the deadline.
inline bool run_until(Loop& loop, const std::function<bool()>& done, Duration max = kDeadline) {
  bool reached = false;
  const Time end = loop.now() + max;
  const auto look = [&] {
    reached = done();
    if (reached || loop.now() >= end) loop.stop();
  };
  const TurnHook hook(loop, look);
  // A change by another thread does not wake the loop, so a timer does.
  std::unique_ptr<Timer> again;
  again = std::make_unique<Timer>(loop, [&] { again->arm(loop.now() + milliseconds(5)); });
  again->arm(loop.now());
  loop.run();
  return reached;
}

// Runs the loop for a while, to show that nothing happens.
inline void run_for(Loop& loop, Duration span) {
  run_until(
      loop, [] { return false; }, span);
}

inline std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string text_of(std::span<const std::byte> frame) {
  return std::string(reinterpret_cast<const char*>(frame.data()), frame.size());
}

// A blocking TCP connection to this machine with a receive timeout; -1 if refused.
inline Fd connect_tcp(uint16_t port) {
  Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval timeout{60, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  while (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EISCONN) break;  // by the call that a signal interrupted
    if (errno != EINTR && errno != EALREADY) return Fd();
  }
  return fd;
}

// A blocking connection to a Unix socket with a receive timeout; -1 if refused.
inline Fd connect_path(const std::string& path) {
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval timeout{60, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  CHECK_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return Fd();
  return fd;
}

// A port that is bound but not listened on, so that no other process can listen on it.
inline std::pair<Fd, uint16_t> reserve_port() {
  Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  CHECK_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  CHECK_EQ(getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return {std::move(fd), ntohs(address.sin_port)};
}

// False if the other end has closed.
inline bool send_all(const Fd& fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

// All bytes until the other end closes.
inline std::string receive_all(const Fd& fd) {
  std::string all;
  char buffer[16 * 1024];
  while (true) {
    const ssize_t count = recv(fd.get(), buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR) continue;  // libFuzzer's alarm, for one
    if (count <= 0) return all;
    all.append(buffer, static_cast<size_t>(count));
  }
}

// Reads until `all` contains `wanted`, or the other end closes.
inline bool receive_until(const Fd& fd, std::string& all, std::string_view wanted) {
  char buffer[16 * 1024];
  while (all.find(wanted) == std::string::npos) {
    const ssize_t count = recv(fd.get(), buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR) continue;  // libFuzzer's alarm, for one
    if (count <= 0) return false;
    all.append(buffer, static_cast<size_t>(count));
  }
  return true;
}

class TempDir {
 public:
  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, std::string_view content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
  }
  void append(const std::string& name, std::string_view content) const {
    std::ofstream(path_ / name, std::ios::binary | std::ios::app) << content;
  }

 private:
  test::TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_.path();
};

}  // namespace proffer::net_test
