#pragma once

// A proxy between ZooKeeper's client and its server that breaks one request. It has its own thread,
// because the client blocks until its last request, the end of the session, is answered.

#include <atomic>
#include <cerrno>
#include <cstring>
#include <future>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "common/check.h"
#include "common/text.h"
#include "common/time.h"
#include "net/fd.h"
#include "net/loop.h"

namespace proffer::test {

// What happens to the request.
struct ZooKeeperFault {
  enum class Kind : uint8_t {
    kNone,
    kCut,      // its connection is closed
    kSilence,  // its connection stays open, but no bytes pass any more
    kExpiry,   // no bytes pass on any connection for `lasting`
  };
  Kind kind = Kind::kNone;
  bool is_carried_out = false;  // the server receives it, and the answer is lost
  Duration lasting = {};
};

// Listens on a free loopback port.
inline Fd listening_on_loopback() {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&any), sizeof any), 0);
  CHECK_EQ(::listen(fd.get(), 8), 0);
  return fd;
}

class ZooKeeperProxy {
 public:
  // `server` is "127.0.0.1:PORT". The client's request with this number, from 1, is broken; pings
  // do not count. `listener` is the socket for clients.
  ZooKeeperProxy(const std::string& server, ZooKeeperFault fault, int number,
                 Fd listener = listening_on_loopback())
      : fault_(fault), number_(number), listener_(std::move(listener)) {
    server_.sin_family = AF_INET;
    server_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server_.sin_port =
        htons(static_cast<uint16_t>(std::stoi(server.substr(server.rfind(':') + 1))));
    std::promise<Loop*> loop;
    std::future<Loop*> started = loop.get_future();
    thread_ = std::thread([this, &loop] { run(loop); });
    loop_ = started.get();
  }
  ~ZooKeeperProxy() {
    loop_->post([this] { loop_->stop(); });
    thread_.join();
  }
  ZooKeeperProxy(const ZooKeeperProxy&) = delete;
  ZooKeeperProxy& operator=(const ZooKeeperProxy&) = delete;

  std::string address() const {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    CHECK_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    return text("127.0.0.1:", ntohs(address.sin_port));
  }
  // The number of the client's requests so far.
  int requests() const { return requests_.load(); }

 private:
  struct Link {
    Fd client = {};
    Fd server = {};
    std::string asked = {};  // an incomplete frame
    bool is_greeted = false;
    bool is_to_break = false;  // when the server answers
    bool is_silent = false;
    std::unique_ptr<FdWatcher> from_client = {};
    std::unique_ptr<FdWatcher> from_server = {};
  };

  void run(std::promise<Loop*>& started) {
    Loop loop;
    FdWatcher watcher(loop, listener_.get(), FdWatcher::Events{.readable = true},
                      [this, &loop](FdWatcher::Events) { take(loop); });
    started.set_value(&loop);
    loop.run();
    links_.clear();
  }

  void take(Loop& loop) {
    links_.push_back({});
    Link& link = links_.back();
    link.client = Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    link.server = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    CHECK_EQ(
        ::connect(link.server.get(), reinterpret_cast<const sockaddr*>(&server_), sizeof server_),
        0)
        << std::strerror(errno);
    link.from_client =
        std::make_unique<FdWatcher>(loop, link.client.get(), FdWatcher::Events{.readable = true},
                                    [this, &loop, &link](FdWatcher::Events) { ask(loop, link); });
    link.from_server = std::make_unique<FdWatcher>(
        loop, link.server.get(), FdWatcher::Events{.readable = true},
        [this, &loop, &link](FdWatcher::Events) { answer(loop, link); });
  }

  static std::string received(const Fd& fd) {
    std::string bytes(size_t{64} << 10, '\0');
    const ssize_t count = ::recv(fd.get(), bytes.data(), bytes.size(), 0);
    bytes.resize(count > 0 ? static_cast<size_t>(count) : 0);
    return bytes;
  }
  static void send_all(const Fd& fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(count));
    }
  }
  static int32_t number_at(const std::string& bytes, size_t at) {
    uint32_t number = 0;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    return static_cast<int32_t>(ntohl(number));
  }

  void ask(Loop& loop, Link& link) {
    const std::string bytes = received(link.client);
    if (bytes.empty()) return close(link);
    if (passes_nothing(loop, link)) return;
    link.asked += bytes;
    while (link.asked.size() >= 4) {
      const size_t size = 4 + static_cast<size_t>(number_at(link.asked, 0));
      if (link.asked.size() < size) return;
      const std::string frame = link.asked.substr(0, size);
      link.asked.erase(0, size);
      // The first frame of a connection has no number; pings and authentication have negative ones.
      const bool is_request = std::exchange(link.is_greeted, true) && number_at(frame, 4) > 0;
      const bool is_the_one = is_request && ++requests_ == number_;
      if (is_the_one && !fault_.is_carried_out) return break_off(loop, link);
      send_all(link.server, frame);
      if (!is_the_one) continue;
      link.is_to_break = true;
      return;
    }
  }

  void answer(Loop& loop, Link& link) {
    const std::string bytes = received(link.server);
    if (bytes.empty()) return close(link);
    if (passes_nothing(loop, link)) return;
    if (link.is_to_break) return break_off(loop, link);
    send_all(link.client, bytes);
  }

  // A connection that lost bytes stays silent: its later bytes would make no sense.
  bool passes_nothing(Loop& loop, Link& link) const {
    link.is_silent |= loop.now() < silent_until_;
    return link.is_silent;
  }

  void break_off(Loop& loop, Link& link) {
    if (fault_.kind == ZooKeeperFault::Kind::kCut) return close(link);
    link.is_silent = true;
    if (fault_.kind == ZooKeeperFault::Kind::kExpiry) silent_until_ = loop.now() + fault_.lasting;
  }

  void close(Link& link) {
    link.from_client.reset();
    link.from_server.reset();
    link.client = Fd();
    link.server = Fd();
  }

  const ZooKeeperFault fault_;
  const int number_;
  std::atomic<int> requests_ = 0;
  sockaddr_in server_{};
  const Fd listener_;
  Loop* loop_ = nullptr;
  // Used by the thread only.
  Time silent_until_ = {};
  std::list<Link> links_;
  std::thread thread_;
};

}  // namespace proffer::test
