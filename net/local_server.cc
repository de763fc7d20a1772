// accept_some makes connections, which become peers with their first frame (on_frame); each end
// goes through forget.

#include "net/local_server.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_map>
#include <utility>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "net/frame_socket.h"
#include "net/local_address.h"
#include "net/peer_process.h"

namespace proffer {
namespace {

constexpr int kAcceptsPerTurn = 64;
constexpr Duration kAcceptAgain = milliseconds(100);  // if descriptors have run out

}  // namespace

struct LocalServer::Impl : std::enable_shared_from_this<LocalServer::Impl> {
  struct Connection {
    std::shared_ptr<FrameSocket> socket = {};
    uint32_t uid = 0;
    bool has_spoken = false;
    Time since = {};
  };

  Loop& loop;
  Handlers handlers;
  Options options;
  std::string path;
  Fd listening;
  std::unordered_map<PeerId, Connection> connections;
  std::unordered_map<uint32_t, size_t> connections_by_user;
  size_t spoken = 0;
  uint64_t last_id = 0;
  bool is_closed = false;
  Counters counts;
  std::unique_ptr<FdWatcher> watcher;
  Timer accept_timer;
  Timer silence_timer;

  Impl(Loop& on, Handlers h, Options o)
      : loop(on),
        handlers(std::move(h)),
        options(std::move(o)),
        accept_timer(on, [this] { watcher->want({.readable = true}); }),
        silence_timer(on, [this] { shut_the_silent(); }) {}

  Result<void> bind(const std::string& given) {
    const Result<sockaddr_un> address = local_address(given);
    if (!address) return address.error();
    path = given;
    const auto refused = [&](std::string_view what) {
      return Error::unavailable(
          text("cannot ", what, " ", quoted(path), ": ", std::strerror(errno)));
    };
    listening = Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (listening.get() < 0) return refused("create a socket for");
    if (unlink(path.c_str()) != 0 && errno != ENOENT) return refused("replace");
    if (::bind(listening.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) !=
        0) {
      return refused("bind");
    }
    if (options.connections_of && chmod(path.c_str(), 0666) != 0) return refused("open");
    if (listen(listening.get(), kListenBacklog) != 0) return refused("listen at");
    watcher =
        std::make_unique<FdWatcher>(loop, listening.get(), FdWatcher::Events{.readable = true},
                                    [this](FdWatcher::Events) { accept_some(); });
    return {};
  }

  void accept_some() {
    for (int i = 0; i < kAcceptsPerTurn; ++i) {
      Fd fd(accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (fd.get() < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return;
        if (errno == ECONNABORTED) continue;
        ++counts.unaccepted;
        LOG_EVERY_N(ERROR, 50) << "connections wait because accept fails; if there are too many "
                                  "open descriptors, raise their limit socket="
                               << path << " reason=\"" << std::strerror(errno) << '"';
        watcher->want({});
        accept_timer.arm(loop.now() + kAcceptAgain);
        return;
      }
      const std::optional<uint32_t> uid = user_of_socket(fd.get());
      if (connections.size() >= options.peers_max || !uid || !admits(*uid)) {
        ++counts.refused;
        continue;
      }
      const PeerId id(++last_id);
      Connection& connection = connections[id];
      connection.uid = *uid;
      ++connections_by_user[*uid];
      connection.since = loop.now();
      connection.socket = FrameSocket::make(
          loop, std::move(fd), options.outgoing_bytes_max,
          {.on_frame = [this, id](std::span<const std::byte> frame) { on_frame(id, frame); },
           .on_end =
               [this, id](FrameSocket::End why) {
                 const bool malformed = why == FrameSocket::End::kMalformed;
                 if (malformed) ++counts.malformed;
                 lose(id, malformed ? PeerLoss::kMalformed : PeerLoss::kDisconnected);
               }});
      if (!silence_timer.is_armed()) silence_timer.arm(loop.now() + options.speak_within);
    }
  }

  bool admits(uint32_t uid) const {
    if (!options.connections_of) return uid == geteuid();
    const auto at = connections_by_user.find(uid);
    return (at == connections_by_user.end() ? 0 : at->second) < options.connections_of(uid);
  }

  using Connections = std::unordered_map<PeerId, Connection>;
  Connections::iterator erase(Connections::iterator at) {
    const auto user = connections_by_user.find(at->second.uid);
    if (--user->second == 0) connections_by_user.erase(user);
    at->second.socket->close();
    return connections.erase(at);
  }

  void on_frame(PeerId id, std::span<const std::byte> frame) {
    const auto self = shared_from_this();  // a handler may destroy the server
    const auto at = connections.find(id);
    if (at == connections.end()) return;
    if (!std::exchange(at->second.has_spoken, true)) ++spoken;
    ++counts.frames_received;
    if (handlers.on_frame) handlers.on_frame(id, frame);
  }

  // True if it was a peer.
  bool forget(PeerId id) {
    const auto at = connections.find(id);
    if (at == connections.end()) return false;
    const bool was_peer = at->second.has_spoken;
    if (was_peer) --spoken;
    erase(at);
    return was_peer;
  }

  void lose(PeerId id, PeerLoss why) {
    const auto self = shared_from_this();
    if (forget(id) && !is_closed && handlers.on_lost) handlers.on_lost(id, why);
  }

  bool send(PeerId id, std::span<const std::byte> frame) {
    const auto at = connections.find(id);
    if (at == connections.end()) return false;
    if (at->second.socket->send(frame)) {
      ++counts.frames_sent;
      return true;
    }
    ++counts.overflows;
    if (forget(id)) {
      loop.defer([weak = weak_from_this(), id] {
        const auto self = weak.lock();
        if (self != nullptr && !self->is_closed && self->handlers.on_lost) {
          self->handlers.on_lost(id, PeerLoss::kOverflow);
        }
      });
    }
    return false;
  }

  void drop(PeerId id) {
    const auto at = connections.find(id);
    if (at == connections.end()) return;
    at->second.socket->linger(Duration());
    forget(id);
  }

  void shut_the_silent() {
    const Time now = loop.now();
    std::optional<Time> next;
    for (auto at = connections.begin(); at != connections.end();) {
      const Time due = at->second.since + options.speak_within;
      if (at->second.has_spoken || due > now) {
        if (!at->second.has_spoken) next = next ? std::min(*next, due) : due;
        ++at;
        continue;
      }
      ++counts.silent;
      at = erase(at);
    }
    silence_timer.arm(next);
  }
};

LocalServer::LocalServer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

// A handler that destroys this object may keep the Impl alive, so the parts that use the loop are
// destroyed now.
LocalServer::~LocalServer() {
  impl_->is_closed = true;
  impl_->watcher.reset();
  impl_->accept_timer.arm(std::nullopt);
  impl_->silence_timer.arm(std::nullopt);
  for (auto& [id, connection] : impl_->connections) {
    connection.socket->linger(Duration());
    connection.socket->close();
  }
  impl_->connections.clear();
  unlink(impl_->path.c_str());
}

Result<std::unique_ptr<LocalServer>> LocalServer::bind(Loop& loop, const std::string& path,
                                                       Handlers handlers, Options options) {
  auto impl = std::make_shared<Impl>(loop, std::move(handlers), std::move(options));
  if (Result<void> bound = impl->bind(path); !bound) return std::move(bound).error();
  return std::unique_ptr<LocalServer>(new LocalServer(std::move(impl)));
}

const std::string& LocalServer::path() const { return impl_->path; }
bool LocalServer::send(PeerId peer, std::span<const std::byte> frame) {
  return impl_->send(peer, frame);
}
void LocalServer::drop(PeerId peer) { impl_->drop(peer); }
size_t LocalServer::peers() const { return impl_->spoken; }
const LocalServer::Counters& LocalServer::counters() const { return impl_->counts; }

bool LocalServer::is_connected(PeerId peer) const {
  const auto at = impl_->connections.find(peer);
  return at != impl_->connections.end() && at->second.has_spoken;
}

std::optional<uint32_t> LocalServer::uid_of(PeerId peer) const {
  const auto at = impl_->connections.find(peer);
  return at == impl_->connections.end() ? std::nullopt : std::optional(at->second.uid);
}

size_t LocalServer::queued(PeerId peer) const {
  const auto at = impl_->connections.find(peer);
  return at == impl_->connections.end() ? 0 : at->second.socket->queued();
}

}  // namespace proffer
