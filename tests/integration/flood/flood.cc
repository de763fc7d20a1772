// A peer that floods a master, or a sink that only reads:
//
//   flood --at=/path/of.sock --kind=calls --connections=20 --seconds=10 [--uid=65534]
//   flood --sink=/path/of.sock --seconds=10
//
// Kinds: connections (opened and closed), messages (heartbeats of frameworks), giants (messages of
// half a mebibyte), asks (a million, declared repeatedly), calls (long answers), unread (calls
// whose answers are not read), reconnects (frameworks that come and go), unfinished (partial
// messages without end). Prints "flooding" when its connections are open, and at its end the amount
// that it has sent. It ends after --seconds; --uid: runs as that user, which only root can do.

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "net/fd.h"
#include "proto/codec/codec.h"
#include "tests/support/zmtp.h"

namespace {

using namespace proffer;
using Clock = std::chrono::steady_clock;

constexpr size_t kChunkBytes = 64 * 1024;  // bytes per write, or the size of one frame

struct Given {
  std::string at = {};
  std::string sink = {};
  std::string kind = {};
  int connections = 20;
  int seconds = 10;
  uid_t uid = 0;  // default: its own
};

struct Sent {
  uint64_t bytes = 0;
  uint64_t frames = 0;
  uint64_t connections = 0;
};

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  CHECK(path.size() < sizeof address.sun_path) << path;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

Ask unfitting_ask(int number) {
  Ask ask;
  ask.name = AskName(text("ask-", number));
  ask.shape = *parse_shape(text("cpus:", 1'000 + number, ";mem:64"));
  ask.count = 4'000;
  return ask;
}

// One connection, which is opened again when the other end closes it.
class Flooder {
 public:
  Flooder(const Given& given, int number) : given_(given), number_(number) {}

  // Sends what the socket accepts, and reads available bytes. False: it could do neither.
  bool go_on(Sent& sent) {
    if (fd_.get() < 0 && !open(sent)) return false;
    bool did_something = given_.kind == "unread" && is_shaken() ? false : read_all();
    if (fd_.get() < 0) return true;
    if (at_ == waiting_.size()) {
      if (!is_shaken()) return did_something;
      at_ = 0;
      waiting_ = next_chunk(sent);
      if (waiting_.empty()) {  // closed on purpose
        fd_ = Fd();
        return true;
      }
    }
    const ssize_t bytes =
        ::send(fd_.get(), waiting_.data() + at_, waiting_.size() - at_, MSG_NOSIGNAL);
    if (bytes > 0) {
      at_ += static_cast<size_t>(bytes);
      sent.bytes += static_cast<uint64_t>(bytes);
      return true;
    }
    if (errno != EAGAIN) fd_ = Fd();
    return did_something;
  }
  bool is_shaken() const { return received_ >= test::kZmtpHandshakeBytes; }
  pollfd waits_for() const {
    const bool writes = at_ < waiting_.size() || is_shaken();
    return {.fd = fd_.get(),
            .events = static_cast<short>(POLLIN | (writes ? POLLOUT : 0)),
            .revents = 0};
  }

 private:
  bool open(Sent& sent) {
    Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const sockaddr_un address = address_of(given_.at);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      return false;
    }
    ++sent.connections;
    fd_ = std::move(fd);
    received_ = 0;
    sequence_ = 0;
    at_ = 0;
    waiting_ = test::zmtp_handshake();
    return true;
  }
  bool read_all() {
    static char into[256 * 1024];
    const ssize_t bytes = ::recv(fd_.get(), into, sizeof into, 0);
    if (bytes > 0) received_ += static_cast<size_t>(bytes);
    if (bytes == 0 || (bytes < 0 && errno != EAGAIN)) fd_ = Fd();
    return bytes > 0;
  }

  std::string frame(proto::Message message, Sent& sent) {
    ++sent.frames;
    const bool is_call = std::holds_alternative<proto::Call>(message);
    const auto encoded =
        encoder_.encode({.version = is_call ? proto::kProtocolVersionMin : proto::kProtocolVersion,
                         .sequence = is_call ? 0 : ++sequence_,
                         .message = std::move(message)});
    CHECK(encoded) << encoded.error().message();
    return test::zmtp_frame({reinterpret_cast<const char*>(encoded->data()), encoded->size()});
  }
  std::string subscribe(Sent& sent) {
    const std::string digits = std::to_string(getpid() * 10'000 + number_);
    return frame(proto::Subscribe{.name = text("flood-", number_),
                                  .role = RoleName("flood"),
                                  .secret = Secret(std::string(32 - digits.size(), '0') + digits)},
                 sent);
  }

  // Empty: this kind closes the connection now.
  std::string next_chunk(Sent& sent) {
    const std::string& kind = given_.kind;
    if (kind == "connections") return {};
    if (kind == "unfinished") return parts(sent);
    if (kind == "calls" || kind == "unread") return calls(sent);
    if (sequence_ == 0) return subscribe(sent);
    if (kind == "reconnects") return {};
    if (kind == "giants") {
      return frame(proto::FrameworkMessage{.agent = AgentId("nowhere"),
                                           .executor = ExecutorId("none"),
                                           .data = std::string(kPayloadBytesMax, 'x')},
                   sent);
    }
    if (kind == "asks") {
      proto::DeclareAsks asks{.generation = sequence_};
      for (size_t i = 0; i < kAsksMax; ++i) asks.asks.push_back(unfitting_ask(static_cast<int>(i)));
      return frame(std::move(asks), sent);
    }
    CHECK(kind == "messages") << "there is no kind " << kind;
    std::string chunk;
    while (chunk.size() < kChunkBytes) chunk += frame(proto::Heartbeat{}, sent);
    return chunk;
  }
  std::string calls(Sent& sent) {
    std::string chunk;
    for (int i = 0; i < 50; ++i) {
      chunk +=
          frame(proto::Call{.id = ++calls_, .method = "tasks", .json = R"({"ended":true})"}, sent);
    }
    return chunk;
  }
  static std::string parts(Sent& sent) {
    std::string chunk;
    while (chunk.size() < kChunkBytes) {
      chunk += test::zmtp_frame("part", true);
      ++sent.frames;
    }
    return chunk;
  }

  const Given& given_;
  int number_;
  proto::Encoder encoder_ = {};
  Fd fd_ = {};
  size_t received_ = 0;
  uint64_t sequence_ = 0;
  uint64_t calls_ = 0;
  std::string waiting_ = {};
  size_t at_ = 0;  // bytes of it that were sent
};

// The kernel clears PDEATHSIG when the user changes, so it is set afterwards.
void become(uid_t uid) {
  const pid_t parent = getppid();
  CHECK(setgroups(0, nullptr) == 0 && setresgid(uid, uid, uid) == 0 &&
        setresuid(uid, uid, uid) == 0)
      << "only root can become another user";
  CHECK_EQ(::prctl(PR_SET_PDEATHSIG, SIGKILL), 0);
  if (getppid() != parent) std::exit(1);
}

void flood(const Given& given) {
  if (given.uid != 0) become(given.uid);
  std::deque<Flooder> all;
  for (int i = 0; i < given.connections; ++i) all.emplace_back(given, i);
  Sent sent;
  bool is_told = false;
  const auto end = Clock::now() + std::chrono::seconds(given.seconds);
  while (Clock::now() < end) {
    bool did_something = false;
    bool is_there = true;
    for (Flooder& one : all) {
      did_something |= one.go_on(sent);
      is_there &= one.is_shaken();
    }
    if ((is_there || sent.connections > all.size()) && !std::exchange(is_told, true)) {
      std::cout << "flooding" << std::endl;
    }
    if (did_something) continue;
    std::vector<pollfd> fds;
    for (const Flooder& one : all) fds.push_back(one.waits_for());
    ::poll(fds.data(), fds.size(), 5);
  }
  std::cout << "sent bytes=" << sent.bytes << " frames=" << sent.frames
            << " connections=" << sent.connections << std::endl;
}

// Completes each handshake, and reads.
void be_sink(const Given& given) {
  const Fd listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(given.sink);
  CHECK_EQ(::bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  CHECK_EQ(::chmod(given.sink.c_str(), 0666), 0);
  CHECK_EQ(::listen(listening.get(), 4'096), 0);
  std::cout << "reading" << std::endl;
  std::vector<Fd> peers;
  std::vector<char> into(256 * 1024);
  const auto end = Clock::now() + std::chrono::seconds(given.seconds);
  while (Clock::now() < end) {
    std::vector<pollfd> fds = {{.fd = listening.get(), .events = POLLIN, .revents = 0}};
    for (const Fd& peer : peers) fds.push_back({.fd = peer.get(), .events = POLLIN, .revents = 0});
    ::poll(fds.data(), fds.size(), 50);
    for (size_t i = peers.size(); i > 0; --i) {
      if (fds[i].revents == 0) continue;
      const ssize_t bytes = ::recv(peers[i - 1].get(), into.data(), into.size(), 0);
      if (bytes > 0 || (bytes < 0 && errno == EAGAIN)) continue;
      peers.erase(peers.begin() + static_cast<std::ptrdiff_t>(i) - 1);
    }
    if (fds[0].revents == 0) continue;
    Fd peer(::accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (peer.get() < 0) continue;
    const std::string hello = test::zmtp_handshake();
    (void)!::send(peer.get(), hello.data(), hello.size(), MSG_NOSIGNAL);
    peers.push_back(std::move(peer));
  }
}

}  // namespace

int main(int argc, char** argv) {
  Given given;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto value = [&](std::string_view name) { return std::string(word.substr(name.size())); };
    if (word.starts_with("--at=")) {
      given.at = value("--at=");
    } else if (word.starts_with("--sink=")) {
      given.sink = value("--sink=");
    } else if (word.starts_with("--kind=")) {
      given.kind = value("--kind=");
    } else if (word.starts_with("--connections=")) {
      given.connections = std::atoi(value("--connections=").c_str());
    } else if (word.starts_with("--seconds=")) {
      given.seconds = std::atoi(value("--seconds=").c_str());
    } else if (word.starts_with("--uid=")) {
      given.uid = static_cast<uid_t>(std::atoi(value("--uid=").c_str()));
    } else {
      std::cerr << "unknown: " << word << "\n";
      return 2;
    }
  }
  if (given.sink.empty() == given.at.empty()) {
    std::cerr << "either --at or --sink is named\n";
    return 2;
  }
  given.sink.empty() ? flood(given) : be_sink(given);
  return 0;
}
