// The life of a session: start_attempt, whose result the owner gets later (on_connected or end),
// then frames, then `end`, which informs the owner and arms the next attempt.

#include "net/local_client.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/socket.h>

#include "common/text.h"
#include "net/frame_socket.h"
#include "net/local_address.h"

namespace proffer {
namespace {

enum class State : uint8_t { kClosed, kWaiting, kConnecting, kConnected, kEnding };

// After a session that lasted this long, the next retry is quick again.
constexpr Duration kGoodSession = seconds(1);

}  // namespace

struct LocalClient::Impl : std::enable_shared_from_this<LocalClient::Impl> {
  Loop& loop;
  Options options;
  Handlers handlers;
  Backoff backoff;
  State state = State::kClosed;
  std::shared_ptr<FrameSocket> socket;
  // The number of the present attempt, by which deferred functions of earlier ones are recognized.
  uint64_t attempts = 0;
  Time since;  // begin of the session
  Timer retry_timer;

  Impl(Loop& on, Options o, Handlers h)
      : loop(on),
        options(std::move(o)),
        handlers(std::move(h)),
        backoff(options.backoff, options.seed),
        retry_timer(on, [this] { start_attempt(); }) {}

  void later(std::function<void(Impl&)> what) {
    loop.defer([weak = weak_from_this(), mine = attempts, what = std::move(what)] {
      const auto self = weak.lock();
      if (self != nullptr && self->attempts == mine) what(*self);
    });
  }

  void start_attempt() {
    retry_timer.arm(std::nullopt);
    state = State::kConnecting;
    ++attempts;
    Result<Fd> fd = open();
    if (!fd) {
      return later([reason = fd.error().message()](Impl& self) { self.end(reason, false); });
    }
    socket = FrameSocket::make(
        loop, *std::move(fd), options.outgoing_bytes_max,
        {.on_frame =
             [this](std::span<const std::byte> frame) {
               const auto self = shared_from_this();  // the handler may destroy the client
               if (state == State::kConnected && handlers.on_frame) handlers.on_frame(frame);
             },
         .on_end =
             [this](FrameSocket::End why) {
               const auto self = shared_from_this();
               end(why == FrameSocket::End::kMalformed
                       ? text(options.path, " sent data that is not a frame")
                       : text("connection to ", options.path, " was closed by the peer"),
                   state == State::kConnected);
             }});
    later([](Impl& self) {
      if (self.state != State::kConnecting) return;
      self.state = State::kConnected;
      self.since = self.loop.now();
      if (self.handlers.on_connected) self.handlers.on_connected();
    });
  }

  // A connected socket: within one machine, connecting does not wait.
  Result<Fd> open() const {
    const Result<sockaddr_un> address = local_address(options.path);
    if (!address) return address.error();
    Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (fd.get() < 0 ||
        ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
      return Error::unavailable(
          text("cannot connect to ", options.path, ": ", std::strerror(errno)));
    }
    return fd;
  }

  void forget_socket() {
    if (socket != nullptr) socket->close();
    socket.reset();
  }

  void end(const std::string& reason, bool was_connected) {
    forget_socket();
    const Time now = loop.now();
    if (was_connected && now - since >= kGoodSession) backoff.reset();
    state = options.keep_connected ? State::kWaiting : State::kClosed;
    if (options.keep_connected) retry_timer.arm(now + backoff.next());
    const auto& tell = was_connected ? handlers.on_disconnected : handlers.on_failed;
    if (tell) tell(reason);
  }

  void reset(std::string reason) {
    if (state != State::kConnecting && state != State::kConnected) return;
    const bool was_connected = state == State::kConnected;
    state = State::kEnding;
    forget_socket();
    later([reason = std::move(reason), was_connected](Impl& self) {
      if (self.state == State::kEnding) self.end(reason, was_connected);
    });
  }

  bool send(std::span<const std::byte> frame) {
    if (state != State::kConnected) return false;
    if (socket->send(frame)) return true;
    reset(text(options.path, " reads too slowly"));
    return false;
  }

  void close() {
    forget_socket();
    retry_timer.arm(std::nullopt);
    state = State::kClosed;
    ++attempts;
  }
};

LocalClient::LocalClient(Loop& loop, Options options, Handlers handlers)
    : impl_(std::make_shared<Impl>(loop, std::move(options), std::move(handlers))) {}

LocalClient::~LocalClient() { impl_->close(); }

void LocalClient::connect() {
  if (impl_->state == State::kClosed || impl_->state == State::kWaiting) impl_->start_attempt();
}

bool LocalClient::send(std::span<const std::byte> frame) { return impl_->send(frame); }
void LocalClient::reset(std::string reason) { impl_->reset(std::move(reason)); }
void LocalClient::close() { impl_->close(); }

void LocalClient::close_gracefully(Duration linger) {
  if (impl_->socket != nullptr) impl_->socket->linger(linger);
  impl_->close();
}

bool LocalClient::is_connected() const { return impl_->state == State::kConnected; }

size_t LocalClient::queued() const {
  return impl_->socket == nullptr ? 0 : impl_->socket->queued();
}

}  // namespace proffer
