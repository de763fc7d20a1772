// Receives and sends frames, and tracks connected peers. Read Impl::pump for receiving, Impl::send
// and retry for slow peers, and Impl::on_hint, probe, and tell_losses for lost peers.
//
// A disconnect is detected in three ways: libzmq's monitor reports a descriptor (a hint, since
// descriptors are reused), a descriptor appears with another peer, or a send fails with "no such
// host". The first two are confirmed by the third, with an empty frame. A peer is reported as lost
// only after its last frame.

#include "net/router.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/stat.h>
#include <zmq.h>

#include "common/check.h"
#include "common/lazy_queue.h"
#include "common/load_limits.h"
#include "common/text.h"
#include "net/accept_guard.h"
#include "net/zap.h"
#include "net/zmq_socket.h"

namespace proffer {
namespace {

constexpr int kLingerMillis = 100;
constexpr Duration kRetryMin = milliseconds(1);  // for frames to slow peers
constexpr Duration kRetryMax = milliseconds(50);
// Doubled each time: about a quarter of a second in all.
constexpr Duration kProbeMin = milliseconds(1);
constexpr int kProbesMax = 8;
constexpr Duration kSweepEvery = seconds(2);  // over ended sessions whose connection is still open
constexpr Duration kLastWords = seconds(1);   // for the last frame of an ended session
constexpr size_t kIgnoredBytesMax = size_t{2} << 20;  // of frames that arrive after that
constexpr size_t kIgnoredFrameCost = 4'096;           // added to the size of each
constexpr Duration kDrainMax = milliseconds(100);     // maximum wait for last frames
constexpr size_t kHintsPerTurn = 1'024;

enum class Sent : uint8_t { kYes, kFull, kGone };

struct Peer {
  PeerId id;
  std::string routing;  // libzmq's id of the connection
  int fd = -1;          // of the connection; a hint
  std::string address;
  PublicKey key;           // for a peer with CURVE
  bool has_ended = false;  // dropped or lost: frames are ignored until the connection is gone
  Time ended_at;
  size_t ignored_bytes = 0;  // since the end of the session
  bool is_gone = false;      // the connection is gone; last frames may still be read
  Time gone_since;
  LazyQueue<OutgoingFrame> queue;  // frames of this turn, and those that a slow peer has not taken
  size_t queued_bytes = 0;
  bool is_backlogged = false;  // further frames wait for the retry timer
};

struct Part {
  ReceivedFrame frame = {};

  zmq_msg_t* message() { return static_cast<zmq_msg_t*>(frame.message()); }
  bool receive(void* socket) {
    return uninterrupted([&] { return zmq_msg_recv(message(), socket, ZMQ_DONTWAIT); }) >= 0;
  }
  bool has_more() { return zmq_msg_more(message()) != 0; }
  size_t size() const { return frame.size(); }
};

Error bind_error(const std::string& endpoint, int error) {
  const size_t scheme = endpoint.find("://");
  const std::string_view place = scheme == std::string::npos
                                     ? std::string_view(endpoint)
                                     : std::string_view(endpoint).substr(scheme + 3);
  switch (error) {
    case EADDRINUSE: {
      const size_t colon = place.rfind(':');
      const std::string_view port =
          colon == std::string_view::npos ? place : place.substr(colon + 1);
      return Error::failed_precondition(
                 text("port ", port, " is in use by another program (binding ", endpoint, ")"))
          .with_hint("stop that program, or choose another port; 0 takes any free one");
    }
    case EADDRNOTAVAIL:
    case ENODEV:
      return Error::failed_precondition(text(quoted(place), " is not an address of this machine"))
          .with_hint("127.0.0.1 serves this machine only, 0.0.0.0 all its addresses");
    case EINVAL:
    case EPROTONOSUPPORT:
      return Error::invalid_argument(
          text(quoted(endpoint), " is neither tcp://host:port nor ipc:///path"));
    default:
      return Error::unavailable(text("cannot bind ", endpoint, ": ", zmq_strerror(error)));
  }
}

uint16_t port_of(const std::string& endpoint) {
  if (!endpoint.starts_with("tcp://")) return 0;
  const Result<int64_t> port =
      parse_whole("port", std::string_view(endpoint).substr(endpoint.rfind(':') + 1), 0, 65'535);
  return port ? static_cast<uint16_t>(*port) : uint16_t{0};
}

}  // namespace

struct Router::Impl : Pump, std::enable_shared_from_this<Router::Impl> {
  struct Suspect {
    int probes = 0;
    Time due;
  };
  struct Hint {
    int fd = -1;
    // The peer with this descriptor at the time of the hint; empty: unknown yet.
    std::string routing;
    Time since;
  };

  Loop& loop;
  Handlers handlers;
  Options options;
  std::shared_ptr<ZapHandler> zap;  // outlives the socket; nullptr: without keys
  std::string zap_domain;
  ZmqSocket socket;
  ZmqMonitor monitor;
  ConnectionWatch connections;
  std::string bound;
  uint16_t bound_port = 0;
  bool is_closed = false;

  std::unordered_map<std::string, std::unique_ptr<Peer>> by_routing;
  std::unordered_map<PeerId, Peer*> by_id;  // with a session
  std::unordered_map<int, Peer*> by_fd;
  uint64_t last_id = 0;
  Counters counts;
  Time read_until;  // the start of the last pump that read everything

  std::vector<Hint> hints;
  std::unordered_map<std::string, Suspect> suspects;  // by routing id; order does not matter
  std::vector<std::string> gone;                      // routing ids, not reported yet
  std::vector<std::pair<PeerId, PeerLoss>> losses;    // not reported yet
  // Peers with frames of this turn that are not backlogged; may repeat.
  std::vector<PeerId> spoken_to;
  size_t frames_held = 0;  // for these peers
  std::vector<PeerId> backlogged;
  Duration retry_wait = kRetryMin;
  Timer retry_timer;
  Timer probe_timer;
  Timer sweep_timer;

  Impl(Loop& on, Handlers h, Options o)
      : loop(on),
        handlers(std::move(h)),
        options(std::move(o)),
        zap(options.keys ? ZapHandler::of(on) : nullptr),
        zap_domain(zap ? zap->add(options.keys->may_connect) : std::string()),
        socket(on, ZMQ_ROUTER, this),
        monitor(on, socket, ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED, this),
        connections(on, options.connections, handlers.on_shut),
        retry_timer(on, [this] { retry(); }),
        probe_timer(on, [this] { probe(); }),
        sweep_timer(on, [this] { sweep(); }) {
    socket.set(ZMQ_ROUTER_MANDATORY, 1);
    socket.set(ZMQ_BACKLOG, kListenBacklog);
    socket.set(ZMQ_LINGER, kLingerMillis);
    // A frame may have a mebibyte, and libzmq limits only the number of frames.
    socket.set(ZMQ_RCVHWM, kReceiveQueueFrames);
    socket.set(ZMQ_SNDHWM, kSendQueueFrames);
    const int64_t frame_max = kFrameBytesMax;
    CHECK_EQ(uninterrupted([&] {
               return zmq_setsockopt(socket.get(), ZMQ_MAXMSGSIZE, &frame_max, sizeof frame_max);
             }),
             0);
  }

  // The options of a ZeroMQ socket apply to later binds.
  void secure_next(bool is_keyed) {
    // If a domain is set, libzmq refuses peers that use ZMTP 1 or 2; other protocols look like ZMTP
    // 1 to it. Without one, such a peer in its handshake makes libzmq 4.3.4 abort the process when
    // the socket is closed. Plain sockets get a domain too, where it has no other effect.
    socket.set_text(ZMQ_ZAP_DOMAIN, is_keyed ? std::string_view(zap_domain) : kPlainDomain);
    if (is_keyed) {
      socket.set_text(ZMQ_CURVE_SECRETKEY, options.keys->own.secret_key);
      socket.set(ZMQ_HANDSHAKE_IVL, static_cast<int>(options.keys->handshake_max.millis()));
    }
    socket.set(ZMQ_CURVE_SERVER, is_keyed ? 1 : 0);
  }

  // ---- Receiving.

  void pump() override {
    const auto self = shared_from_this();  // a handler may destroy the Router
    const Time started = loop.now();
    read_hints(started);
    bool is_drained = false;
    for (size_t i = 0; i < options.frames_per_turn && !is_closed && !is_drained; ++i) {
      if (loop.now() - started > options.turn_time_max) break;
      if (options.may_read && !options.may_read()) break;
      is_drained = !receive_one();
    }
    if (is_drained) {
      connections.read_all();
      read_until = started;
    }
    if (is_closed) return;
    apply_hints(is_drained, started);
    settle_gone(is_drained, started);
    tell_losses();
  }

  bool is_pending() override {
    return socket.is_readable() || monitor.is_readable() || !hints.empty() || !gone.empty() ||
           !losses.empty();
  }

  // Receives one message of any form; false if there is none.
  bool receive_one() {
    Part routing;
    if (!routing.receive(socket.get())) return false;
    Part frame;
    const bool has_frame = routing.has_more() && frame.receive(socket.get());
    // All parts of a message are there when the first is; each is freed before the next is
    // received.
    bool has_extra = has_frame && frame.has_more();
    for (bool more = has_extra; more;) {
      Part extra;
      more = extra.receive(socket.get()) && extra.has_more();
    }
    const std::string name(reinterpret_cast<const char*>(routing.frame.bytes().data()),
                           routing.size());
    const int fd = has_frame ? zmq_msg_get(frame.message(), ZMQ_SRCFD) : -1;
    connections.spoke(fd);
    const bool is_well_formed =
        has_frame && !has_extra && frame.size() > 0 && frame.size() <= kFrameBytesMax;
    const auto found = by_routing.find(name);
    Peer* peer = found == by_routing.end() ? nullptr : found->second.get();

    if (!is_well_formed) {
      ++counts.malformed;
      if (peer != nullptr && !peer->has_ended) lose(*peer, PeerLoss::kMalformed);
      end_connection(name, fd);
      return true;
    }
    if (peer == nullptr) {
      if (by_routing.size() >= options.peers_max) {
        ++counts.peers_refused;
        end_connection(name, fd);
        return true;
      }
      peer = &welcome(name, fd, frame);
      if (zap != nullptr && peer->key.empty() && !peer_process(peer->address)) {
        // Never observed; but libzmq admits peers without a check if there is no handler.
        ++counts.peers_refused;
        end_session(*peer);
        end_connection(name, fd);
        return true;
      }
    }
    if (peer->has_ended) {
      ++counts.ignored;
      // Frames that were already on their way must not prevent that the peer gets its last message.
      // So the sweep ends the connection, or the limit on these frames, after which the last
      // message has long left.
      peer->ignored_bytes += frame.size() + kIgnoredFrameCost;
      const bool is_enough = peer->ignored_bytes >= kIgnoredBytesMax;
      if (is_enough || loop.now() - peer->ended_at >= kLastWords) end_connection(name, fd);
      return true;
    }
    ++counts.frames_received;
    if (handlers.on_frame) handlers.on_frame(peer->id, std::move(frame.frame));
    return true;
  }

  Peer& welcome(const std::string& name, int fd, Part& frame) {
    auto owned = std::make_unique<Peer>();
    Peer& peer = *owned;
    peer.id = PeerId(++last_id);
    peer.routing = name;
    peer.fd = fd;
    const char* address = zmq_msg_gets(frame.message(), "Peer-Address");
    if (address != nullptr) peer.address = address;
    // Only the handler's value is used; a peer without CURVE could set this property itself.
    const char* key = zmq_msg_gets(frame.message(), "User-Id");
    if (zap != nullptr && key != nullptr && !peer_process(peer.address) &&
        is_valid_public_key(key)) {
      peer.key = PublicKey(key);
    }
    by_routing.emplace(name, std::move(owned));
    by_id.emplace(peer.id, &peer);
    ++counts.peers_seen;
    if (fd >= 0) {
      Peer*& holder = by_fd[fd];
      if (holder != nullptr) suspect(holder->routing);  // another connection has its descriptor now
      holder = &peer;
    }
    return peer;
  }

  // Closes a connection that has just sent a frame, if it still exists: its descriptor may have
  // been reused, so libzmq is asked first.
  void end_connection(const std::string& name, int fd) {
    if (fd >= 0 && probe_peer(name) != Sent::kGone) shutdown(fd, SHUT_RDWR);
    suspect(name);
  }

  // ---- Sending.

  Sent try_send(const std::string& name, OutgoingFrame& frame) {
    const int named = uninterrupted([&] {
      return zmq_send(socket.get(), name.data(), name.size(), ZMQ_SNDMORE | ZMQ_DONTWAIT);
    });
    if (named < 0) return zmq_errno() == EAGAIN ? Sent::kFull : Sent::kGone;
    return frame.send(socket.get()) ? Sent::kYes : Sent::kGone;
  }

  Sent probe_peer(const std::string& name) {
    OutgoingFrame empty({});
    return try_send(name, empty);
  }

  bool has_no_room(const Peer& peer, std::span<const std::byte> frame) const {
    return peer.queue.size() >= options.outgoing_frames_max ||
           peer.queued_bytes + frame.size() > options.outgoing_bytes_max;
  }

  bool send(PeerId id, std::span<const std::byte> frame) {
    CHECK(!frame.empty() && frame.size() <= kFrameBytesMax) << "frame of " << frame.size();
    const auto found = by_id.find(id);
    if (found == by_id.end() || found->second->is_gone) return false;
    if (frames_held >= kFramesHeldMax) flush();
    Peer& peer = *found->second;
    if (has_no_room(peer, frame) && !peer.is_backlogged) send_queue(peer);
    if (peer.is_gone) return false;
    if (has_no_room(peer, frame)) {
      ++counts.overflows;
      lose(peer, PeerLoss::kOverflow);
      // It does not read its last message, and continues to send.
      end_connection(peer.routing, peer.fd);
      return false;
    }
    peer.queued_bytes += peer.queue.emplace_back(frame).size();
    if (peer.is_backlogged) return true;
    if (peer.queue.size() == 1) spoken_to.push_back(id);
    ++frames_held;
    return true;
  }

  void flush() override {
    frames_held = 0;
    for (const PeerId id : std::exchange(spoken_to, {})) {
      const auto found = by_id.find(id);
      if (found == by_id.end()) continue;
      Peer& peer = *found->second;
      send_queue(peer);
      if (peer.queue.empty()) continue;
      peer.is_backlogged = true;
      backlogged.push_back(id);
      retry_wait = kRetryMin;
      if (!retry_timer.is_armed()) retry_timer.arm(loop.now() + retry_wait);
    }
  }

  // Sends until the queue is empty, or the peer is full or gone; returns whether any frame was
  // sent.
  bool send_queue(Peer& peer) {
    bool any = false;
    for (size_t i = 0; i < kMessagesPerTurn && !peer.queue.empty(); ++i) {
      const size_t bytes = peer.queue.front().size();
      const Sent sent = try_send(peer.routing, peer.queue.front());
      if (sent == Sent::kFull) break;
      if (sent == Sent::kGone) {
        mark_gone(peer);
        break;
      }
      ++counts.frames_sent;
      any = true;
      peer.queued_bytes -= bytes;
      peer.queue.pop_front();
    }
    return any;
  }

  // A ROUTER does not report when a full peer has room again, so a timer retries: soon while there
  // is progress, less often otherwise.
  void retry() {
    bool progress = false;
    std::vector<PeerId> waiting;
    waiting.swap(backlogged);
    for (const PeerId id : waiting) {
      const auto found = by_id.find(id);
      if (found == by_id.end()) continue;
      Peer& peer = *found->second;
      progress = send_queue(peer) || progress;
      peer.is_backlogged = !peer.queue.empty();
      if (peer.is_backlogged) backlogged.push_back(id);
    }
    if (backlogged.empty()) return;
    retry_wait = progress ? kRetryMin : std::min(retry_wait * 2, kRetryMax);
    retry_timer.arm(loop.now() + retry_wait);
  }

  // ---- Ends of sessions.

  // The session has ended; the entry stays until the connection is gone, to recognize its frames.
  void end_session(Peer& peer) {
    if (!peer.is_backlogged) send_queue(peer);  // its last message
    peer.has_ended = true;
    peer.ended_at = loop.now();
    peer.queue.clear();
    peer.queued_bytes = 0;
    by_id.erase(peer.id);
    if (!sweep_timer.is_armed()) sweep_timer.arm(loop.now() + kSweepEvery);
  }

  void lose(Peer& peer, PeerLoss why) {
    end_session(peer);
    ++counts.peers_lost;
    losses.emplace_back(peer.id, why);
  }

  void mark_gone(Peer& peer) {
    peer.queue.clear();
    peer.queued_bytes = 0;
    if (peer.is_gone) return;
    peer.is_gone = true;
    peer.gone_since = loop.now();
    gone.push_back(peer.routing);
  }

  // Connections that were gone before this batch of messages was read to its end have no more
  // frames. During a flood of other messages, the wait for that end is limited.
  void settle_gone(bool is_drained, Time started) {
    std::vector<std::string> later;
    for (const std::string& name : gone) {
      const auto found = by_routing.find(name);
      if (found == by_routing.end()) continue;
      Peer& peer = *found->second;
      const bool is_read = is_drained && peer.gone_since < started;
      if (!is_read && loop.now() - peer.gone_since < kDrainMax) {
        later.push_back(name);
        continue;
      }
      if (!peer.has_ended) lose(peer, PeerLoss::kDisconnected);
      const auto holder = by_fd.find(peer.fd);
      if (holder != by_fd.end() && holder->second == &peer) by_fd.erase(holder);
      by_routing.erase(found);
    }
    gone.swap(later);
  }

  void tell_losses() {
    std::vector<std::pair<PeerId, PeerLoss>> told;
    told.swap(losses);
    for (const auto& [id, why] : told) {
      if (is_closed) return;
      if (handlers.on_lost) handlers.on_lost(id, why);
    }
  }

  void drop(PeerId id) {
    const auto found = by_id.find(id);
    if (found != by_id.end()) end_session(*found->second);
    // It was lost and not reported yet, so no report is needed.
    std::erase_if(losses, [id](const auto& loss) { return loss.first == id; });
  }

  void cut(PeerId id) {
    const auto found = by_id.find(id);
    if (found == by_id.end()) return;
    const Peer& peer = *found->second;
    drop(id);
    end_connection(peer.routing, peer.fd);
  }

  void charge(PeerId id, int64_t arrivals) {
    const auto found = by_id.find(id);
    if (found == by_id.end()) return;
    const auto process = peer_process(found->second->address);
    if (process) charge_arrivals(process->uid, arrivals);
  }

  // ---- Hints and probes.

  void read_hints(Time now) {
    for (size_t i = 0; i < kHintsPerTurn; ++i) {
      const std::optional<ZmqMonitor::Event> event = monitor.next();
      if (!event) return;
      if (event->kind == ZMQ_EVENT_ACCEPTED) connections.accepted(event->value);
      if (event->kind != ZMQ_EVENT_DISCONNECTED) continue;
      connections.ended(event->value);
      const auto holder = by_fd.find(event->value);
      hints.push_back(
          {event->value, holder == by_fd.end() ? std::string() : holder->second->routing, now});
    }
  }

  // A hint may come before the first frame of its peer was read, so it waits until all available
  // messages are read.
  void apply_hints(bool is_drained, Time now) {
    std::vector<Hint> later;
    for (Hint& hint : hints) {
      if (hint.routing.empty()) {
        const auto holder = by_fd.find(hint.fd);
        if (holder != by_fd.end()) hint.routing = holder->second->routing;
      }
      if (!hint.routing.empty()) {
        suspect(hint.routing);
      } else if (!is_drained && now - hint.since < kDrainMax) {
        later.push_back(std::move(hint));
      }
    }
    hints.swap(later);
  }

  void suspect(const std::string& name) {
    if (by_routing.find(name) == by_routing.end()) return;
    const Time now = loop.now();
    suspects[name] = Suspect{.probes = 0, .due = now};
    probe_timer.arm(now);
  }

  // The monitor may be faster than the socket with the same disconnect, so a successful probe is
  // repeated a few times before the hint is dropped.
  void probe() {
    const Time now = loop.now();
    std::optional<Time> next;
    for (auto each = suspects.begin(); each != suspects.end();) {
      if (is_settled(each->first, each->second, now)) {
        each = suspects.erase(each);
        continue;
      }
      next = next ? std::min(*next, each->second.due) : each->second.due;
      ++each;
    }
    probe_timer.arm(next);
  }

  // Probes if it is time to; true if the connection is gone, or is confirmed to exist.
  bool is_settled(const std::string& name, Suspect& each, Time now) {
    const auto found = by_routing.find(name);
    if (found == by_routing.end() || found->second->is_gone) return true;
    if (each.due > now) return false;
    if (probe_peer(name) == Sent::kGone) {
      mark_gone(*found->second);
      return true;
    }
    each.due = now + kProbeMin * (int64_t{1} << ++each.probes);
    return each.probes >= kProbesMax;
  }

  // Events can be lost, and a peer may keep its connection open silently: removes the entries and
  // the connections of ended sessions.
  void sweep() {
    bool any = false;
    const Time now = loop.now();
    for (const auto& [name, peer] : by_routing) {
      if (!peer->has_ended || peer->is_gone) continue;
      any = true;
      if (probe_peer(name) == Sent::kGone) {
        mark_gone(*peer);
      } else if (const auto holder = by_fd.find(peer->fd); holder != by_fd.end() &&
                                                           holder->second == peer.get() &&
                                                           now - peer->ended_at >= kLastWords) {
        shutdown(peer->fd, SHUT_RDWR);
      }
    }
    if (any) sweep_timer.arm(loop.now() + kSweepEvery);
  }
};

Router::Router(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {
  impl_->loop.add(impl_.get());
}

// A handler that destroys this object may keep the Impl alive, so the parts that use the loop are
// destroyed now.
Router::~Router() {
  impl_->flush();
  impl_->is_closed = true;
  impl_->loop.remove(impl_.get());
  impl_->retry_timer.arm(std::nullopt);
  impl_->probe_timer.arm(std::nullopt);
  impl_->sweep_timer.arm(std::nullopt);
  if (impl_->zap != nullptr) impl_->zap->remove(impl_->zap_domain);
}

Result<std::unique_ptr<Router>> Router::bind(Loop& loop, const std::string& endpoint,
                                             Handlers handlers, Options options) {
  std::unique_ptr<Router> router(
      new Router(std::make_shared<Impl>(loop, std::move(handlers), std::move(options))));
  if (Result<void> listening = router->listen(endpoint); !listening) {
    return std::move(listening).error();
  }
  return router;
}

Result<void> Router::listen(const std::string& endpoint) {
  constexpr std::string_view kIpc = "ipc://";
  const bool is_ipc = endpoint.starts_with(kIpc) && endpoint.size() > kIpc.size();
  if (!is_ipc && !endpoint.starts_with("tcp://")) return bind_error(endpoint, EINVAL);
  guard_accept();
  if (endpoint.find('[') != std::string::npos) impl_->socket.set(ZMQ_IPV6, 1);
  impl_->secure_next(!is_ipc && impl_->zap != nullptr);
  if (uninterrupted([&] { return zmq_bind(impl_->socket.get(), endpoint.c_str()); }) != 0) {
    return bind_error(endpoint, zmq_errno());
  }
  // The umask forbids other users to connect; the kernel identifies them.
  if (is_ipc && chmod(endpoint.c_str() + kIpc.size(), 0666) != 0) {
    return bind_error(endpoint, errno);
  }
  impl_->bound = impl_->socket.get_text(ZMQ_LAST_ENDPOINT);
  if (!is_ipc) impl_->bound_port = port_of(impl_->bound);
  return {};
}

const std::string& Router::endpoint() const { return impl_->bound; }
uint16_t Router::port() const { return impl_->bound_port; }
bool Router::send(PeerId peer, std::span<const std::byte> frame) {
  return impl_->send(peer, frame);
}
void Router::drop(PeerId peer) { impl_->drop(peer); }
void Router::cut(PeerId peer) { impl_->cut(peer); }

void Router::charge(PeerId peer, int64_t arrivals) { impl_->charge(peer, arrivals); }
size_t Router::peers() const { return impl_->by_id.size(); }
const Router::Counters& Router::counters() const {
  impl_->counts.connections_shut = impl_->connections.counters();
  impl_->counts.connections_refused = connections_refused();
  return impl_->counts;
}

Time Router::read_until(Time now) const { return impl_->is_pending() ? impl_->read_until : now; }

bool Router::has_session(PeerId peer) const { return impl_->by_id.contains(peer); }

bool Router::is_connected(PeerId peer) const {
  const auto found = impl_->by_id.find(peer);
  return found != impl_->by_id.end() && !found->second->is_gone;
}

size_t Router::queued(PeerId peer) const {
  const auto found = impl_->by_id.find(peer);
  return found == impl_->by_id.end() ? 0 : found->second->queue.size();
}

size_t Router::queued_bytes(PeerId peer) const {
  const auto found = impl_->by_id.find(peer);
  return found == impl_->by_id.end() ? 0 : found->second->queued_bytes;
}

std::optional<PeerProcess> Router::process_of(PeerId peer) const {
  const auto found = impl_->by_id.find(peer);
  return found == impl_->by_id.end() ? std::nullopt : peer_process(found->second->address);
}

PublicKey Router::key_of(PeerId peer) const {
  const auto found = impl_->by_id.find(peer);
  return found == impl_->by_id.end() ? PublicKey() : found->second->key;
}

std::string Router::peer_address(PeerId peer) const {
  const auto found = impl_->by_id.find(peer);
  return found == impl_->by_id.end() ? std::string() : found->second->address;
}

}  // namespace proffer
