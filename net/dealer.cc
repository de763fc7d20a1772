// The life of a session: start_attempt, then the events of the socket's monitor (on_event), then
// `end`, which informs the owner and arms the next attempt. Each cause for an end only records the
// reason; the next pump carries it out, so no handler is called within a call of the owner.

#include "net/dealer.h"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "common/check.h"
#include "common/text.h"
#include "net/peer_process.h"
#include "net/users.h"
#include "net/zmq_socket.h"

namespace proffer {
namespace {

enum class State : uint8_t { kClosed, kWaiting, kConnecting, kConnected };

// After a session that lasted this long, the next retry is quick again.
constexpr Duration kGoodSession = seconds(1);
constexpr std::string_view kUnixSocket = "ipc://";

constexpr int kEvents = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED |
                        ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                        ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;

bool may_serve_folder(uint32_t uid, std::string_view endpoint) {
  if (uid == 0 || uid == geteuid()) return true;
  const std::string path(endpoint.substr(kUnixSocket.size()));
  struct stat folder = {};
  return stat(path.substr(0, path.rfind('/') + 1).c_str(), &folder) == 0 && folder.st_uid == uid;
}

struct Session {
  ZmqSocket socket;
  ZmqMonitor monitor;
  bool is_checked = false;  // the user of the other end was checked
  Session(Loop& loop, Pump* owner)
      : socket(loop, ZMQ_DEALER, owner), monitor(loop, socket, kEvents, owner) {}
};

}  // namespace

struct Dealer::Impl : Pump, std::enable_shared_from_this<Dealer::Impl> {
  // Why the session ends. The end is deferred: earlier frames are still to be read.
  struct Ending {
    std::string reason;
    bool at_once = false;
  };

  Loop& loop;
  Options options;
  Handlers handlers;
  Backoff backoff;
  State state = State::kClosed;
  std::unique_ptr<Session> session;
  uint64_t sessions = 0;
  Time since;  // begin of the session
  std::optional<Ending> ending;
  std::deque<OutgoingFrame> queue;  // frames of this turn, and those that a slow peer has not taken
  size_t queued_bytes = 0;
  std::vector<std::string> endpoints;  // options.endpoint is the one in use
  size_t at = 0;                       // the index of that endpoint
  size_t tried = 0;                    // endpoints tried since the last back-off
  std::optional<size_t> named;         // the endpoint that the other end has named
  bool is_named_used = false;          // since the last back-off
  Timer retry_timer;
  Timer deadline_timer;

  Impl(Loop& on, Options o, Handlers h)
      : loop(on),
        options(std::move(o)),
        handlers(std::move(h)),
        backoff(options.backoff, options.seed),
        retry_timer(on, [this] { start_attempt(); }),
        deadline_timer(on, [this] {
          end_soon(text("no answer from ", options.endpoint, " within ",
                        to_text(options.connect_timeout)),
                   true);
        }) {
    endpoints.push_back(options.endpoint);
    for (const std::string& other : options.others) endpoints.push_back(other);
  }

  void start_attempt() {
    retry_timer.arm(std::nullopt);
    state = State::kConnecting;
    ending.reset();
    ++sessions;
    session = std::make_unique<Session>(loop, this);
    loop.wake(this);
    ZmqSocket& socket = session->socket;
    socket.set(ZMQ_RECONNECT_IVL, -1);  // a reconnected socket would mix two sessions
    socket.set(ZMQ_CONNECT_TIMEOUT, static_cast<int>(options.connect_timeout.millis()));
    const int64_t frame_max = kFrameBytesMax;
    CHECK_EQ(uninterrupted([&] {
               return zmq_setsockopt(socket.get(), ZMQ_MAXMSGSIZE, &frame_max, sizeof frame_max);
             }),
             0);
    if (options.endpoint.find('[') != std::string::npos) socket.set(ZMQ_IPV6, 1);
    if (is_keyed()) {
      if (options.keys_now) options.keys = options.keys_now(*options.keys);
      socket.set_text(ZMQ_CURVE_SERVERKEY, options.keys->server.str());
      socket.set_text(ZMQ_CURVE_PUBLICKEY, options.keys->own.public_key.str());
      socket.set_text(ZMQ_CURVE_SECRETKEY, options.keys->own.secret_key);
    }
    deadline_timer.arm(loop.now() + options.connect_timeout);
    if (uninterrupted([&] { return zmq_connect(socket.get(), options.endpoint.c_str()); }) != 0) {
      end_soon(
          text("cannot connect to ", quoted(options.endpoint), ": ", zmq_strerror(zmq_errno())),
          true);
    }
  }

  bool has_session() const { return state == State::kConnected && !ending; }

  // The first reason is kept, but "at once" replaces "after the last frame".
  void end_soon(std::string reason, bool at_once) {
    if (session == nullptr) return;
    if (!ending) ending = Ending{std::move(reason), at_once};
    ending->at_once = ending->at_once || at_once;
    loop.wake(this);
  }

  void pump() override {
    const auto self = shared_from_this();  // a handler may destroy the Dealer
    if (session == nullptr) return;
    const uint64_t mine = sessions;
    const auto is_mine = [this, mine] { return session != nullptr && sessions == mine; };
    while (is_mine()) {
      const std::optional<ZmqMonitor::Event> event = session->monitor.next();
      if (!event) break;
      on_event(*event);
    }
    bool is_drained = false;
    const Time started = loop.now();
    for (size_t i = 0; i < kMessagesPerTurn && !is_drained && is_mine(); ++i) {
      if ((ending && ending->at_once) || loop.now() - started > kTurnTimeMax) break;
      is_drained = !receive_one();
    }
    if (is_mine() && ending && (is_drained || ending->at_once)) end();
  }

  bool is_pending() override {
    if (session == nullptr) return false;
    return ending.has_value() || session->monitor.is_readable() || session->socket.is_readable() ||
           (!queue.empty() && session->socket.is_writable());
  }
  bool may_sleep() const override { return true; }

  void on_event(const ZmqMonitor::Event& event) {
    switch (event.kind) {
      case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        if (state != State::kConnecting || ending) return;
        deadline_timer.arm(std::nullopt);
        state = State::kConnected;
        since = loop.now();
        if (handlers.on_connected) handlers.on_connected();
        return;
      case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
        return end_soon(
            text(options.endpoint, " ", kRefusesKey, ": it was revoked, or was never registered"),
            false);
      case ZMQ_EVENT_DISCONNECTED:
        if (state == State::kConnecting && is_keyed()) return end_soon(handshake_failed(), false);
        return end_soon(text("connection to ", options.endpoint, " was closed by the peer"), false);
      case ZMQ_EVENT_CLOSED:
        return end_soon(not_reached(), false);
      default:
        return end_soon(handshake_failed(), false);
    }
  }

  // Unix sockets have no keys.
  bool is_keyed() const {
    return options.keys.has_value() && !options.endpoint.starts_with(kUnixSocket);
  }

  // libzmq gives no reason.
  std::string not_reached() const {
    if (options.endpoint.starts_with(kUnixSocket)) {
      const std::string path = options.endpoint.substr(kUnixSocket.size());
      if (::access(path.c_str(), W_OK) != 0 && errno == EACCES) {
        return text("user ", quoted(user_name(geteuid())), " may not connect to ",
                    options.endpoint);
      }
    }
    return text("no process listens at ", options.endpoint);
  }

  std::string handshake_failed() const {
    if (!is_keyed()) {
      return text("handshake with ", options.endpoint,
                  " failed: it may require a key (proffer join), or is not a master");
    }
    return text("handshake with ", options.endpoint, " failed: it does not have the key ",
                options.keys->server.str(), ", or serves without keys");
  }

  // The first frame of a connection has the user from the kernel; a session is one connection.
  bool is_served_well(zmq_msg_t& frame) {
    session->is_checked = true;
    if (!options.endpoint.starts_with(kUnixSocket)) return true;
    const char* address = zmq_msg_gets(&frame, "Peer-Address");
    const std::optional<PeerProcess> process = peer_process(address == nullptr ? "" : address);
    if (process && (options.may_serve ? options.may_serve(process->uid)
                                      : may_serve_folder(process->uid, options.endpoint))) {
      return true;
    }
    end_soon(text(options.endpoint, " is served by ",
                  process ? text("user ", quoted(user_name(process->uid))) : "an unknown user",
                  ", which is not trusted"),
             true);
    return false;
  }

  // Receives one message; false if there is none. The other end sends single frames, so a message
  // with more parts is an error. An empty frame only tests the connection.
  bool receive_one() {
    zmq_msg_t frame;
    zmq_msg_init(&frame);
    const auto receive = [&] {
      return uninterrupted(
          [&] { return zmq_msg_recv(&frame, session->socket.get(), ZMQ_DONTWAIT); });
    };
    if (receive() < 0) {
      zmq_msg_close(&frame);
      return false;
    }
    bool more = zmq_msg_more(&frame) != 0;
    if (more) {
      while (more) {
        more = receive() >= 0 && zmq_msg_more(&frame) != 0;
      }
      end_soon(text(options.endpoint, " sent a message of several frames"), true);
    } else if (!session->is_checked && !is_served_well(frame)) {
      // The reason is recorded.
    } else if (zmq_msg_size(&frame) > 0 && state == State::kConnected && handlers.on_frame) {
      handlers.on_frame(
          {static_cast<const std::byte*>(zmq_msg_data(&frame)), zmq_msg_size(&frame)});
    }
    zmq_msg_close(&frame);
    return true;
  }

  bool has_no_room(std::span<const std::byte> frame) const {
    return queue.size() >= options.outgoing_frames_max ||
           queued_bytes + frame.size() > options.outgoing_bytes_max;
  }

  bool send(std::span<const std::byte> frame) {
    CHECK(!frame.empty() && frame.size() <= kFrameBytesMax) << "frame of " << frame.size();
    if (!has_session()) return false;
    loop.wake(this);
    if (queue.size() == kFramesHeldMax || has_no_room(frame)) flush();
    if (has_no_room(frame)) {
      end_soon(text(options.endpoint, " reads too slowly"), true);
      return false;
    }
    queued_bytes += queue.emplace_back(frame).size();
    return true;
  }

  void flush() override {
    for (size_t i = 0; i < kMessagesPerTurn && !queue.empty(); ++i) {
      const size_t bytes = queue.front().size();
      if (!queue.front().send(session->socket.get())) return;
      queued_bytes -= bytes;
      queue.pop_front();
    }
  }

  void forget_session() {
    flush();
    session.reset();
    ending.reset();
    queue.clear();
    queued_bytes = 0;
    deadline_timer.arm(std::nullopt);
  }

  void end() {
    const std::string reason = ending->reason;
    const bool was_connected = state == State::kConnected;
    const Time now = loop.now();
    forget_session();
    if (was_connected && now - since >= kGoodSession) backoff.reset();
    state = options.keep_connected ? State::kWaiting : State::kClosed;
    if (options.keep_connected) retry_timer.arm(now + wait_for_next());
    const auto& tell = was_connected ? handlers.on_disconnected : handlers.on_failed;
    if (tell) tell(reason);
  }

  // Selects the next endpoint, and returns the wait before it.
  Duration wait_for_next() {
    const std::optional<size_t> preferred = std::exchange(named, std::nullopt);
    if (preferred && !std::exchange(is_named_used, true)) {
      use(*preferred);
      return Duration();
    }
    use((at + 1) % endpoints.size());
    if (++tried < endpoints.size()) return Duration();
    tried = 0;
    is_named_used = false;
    return backoff.next();
  }

  void use(size_t next) {
    at = next;
    options.endpoint = endpoints[at];
  }

  void close() {
    forget_session();
    retry_timer.arm(std::nullopt);
    state = State::kClosed;
    ++sessions;
  }
};

Dealer::Dealer(Loop& loop, Options options, Handlers handlers)
    : impl_(std::make_shared<Impl>(loop, std::move(options), std::move(handlers))) {
  loop.add(impl_.get());
}

Dealer::~Dealer() {
  impl_->close();
  impl_->loop.remove(impl_.get());
}

void Dealer::connect() {
  if (impl_->state == State::kClosed || impl_->state == State::kWaiting) impl_->start_attempt();
}

void Dealer::redirect(const std::string& endpoint, std::string reason) {
  const auto found = std::find(impl_->endpoints.begin(), impl_->endpoints.end(), endpoint);
  if (found != impl_->endpoints.end()) {
    impl_->named = static_cast<size_t>(found - impl_->endpoints.begin());
  }
  impl_->end_soon(std::move(reason), true);
}

const std::string& Dealer::endpoint() const { return impl_->options.endpoint; }
bool Dealer::send(std::span<const std::byte> frame) { return impl_->send(frame); }
void Dealer::reset(std::string reason) { impl_->end_soon(std::move(reason), true); }
void Dealer::close() { impl_->close(); }

void Dealer::close_gracefully(Duration linger) {
  if (impl_->session != nullptr && impl_->has_session()) {
    for (size_t left = SIZE_MAX; impl_->queue.size() < left;) {
      left = impl_->queue.size();
      impl_->flush();
    }
    impl_->session->socket.set(ZMQ_LINGER, static_cast<int>(linger.millis()));
  }
  impl_->close();
}

bool Dealer::is_connected() const { return impl_->has_session(); }
size_t Dealer::queued() const { return impl_->queue.size(); }

}  // namespace proffer
