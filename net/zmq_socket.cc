// The few calls into libzmq that Router and Dealer share. They use the C interface, which returns
// errors instead of throwing.

#include "net/zmq_socket.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include <zmq.h>

#include "common/check.h"
#include "common/text.h"

namespace proffer {
namespace {

// More sockets than this in one process are a bug; the context takes 8 bytes for each.
constexpr int kSocketsMax = 32 * 1024;

struct Companion {
  void* context = zmq_ctx_new();
  std::weak_ptr<void> zap_handler = {};
  Companion() {
    CHECK(context != nullptr);
    zmq_ctx_set(context, ZMQ_MAX_SOCKETS, kSocketsMax);
    zmq_ctx_set(context, ZMQ_BLOCKY, 0);
  }
  ~Companion() { zmq_ctx_term(context); }
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;
};

Companion& companion_of(Loop& loop) {
  std::shared_ptr<void>& companion = loop.companion();
  if (companion == nullptr) companion = std::make_shared<Companion>();
  return *static_cast<Companion*>(companion.get());
}

}  // namespace

void* zmq_context(Loop& loop) { return companion_of(loop).context; }
std::weak_ptr<void>& zmq_zap_handler(Loop& loop) { return companion_of(loop).zap_handler; }

bool was_interrupted() { return zmq_errno() == EINTR; }

OutgoingFrame::OutgoingFrame(std::span<const std::byte> bytes) {
  CHECK_EQ(zmq_msg_init_size(&message_, bytes.size()), 0) << "no memory for a frame";
  std::memcpy(zmq_msg_data(&message_), bytes.data(), bytes.size());
}

OutgoingFrame::OutgoingFrame(OutgoingFrame&& other) noexcept {
  zmq_msg_init(&message_);
  zmq_msg_move(&message_, &other.message_);
}

bool OutgoingFrame::send(void* socket) {
  return uninterrupted([&] { return zmq_msg_send(&message_, socket, ZMQ_DONTWAIT); }) >= 0;
}

ZmqSocket::ZmqSocket(Loop& loop, int type, Pump* owner)
    : socket_(zmq_socket(zmq_context(loop), type)) {
  // The only causes: no descriptors left, or more sockets than the context's maximum.
  CHECK(socket_ != nullptr) << "no socket: " << zmq_strerror(zmq_errno());
  set(ZMQ_LINGER, 0);
  waker_ = std::make_unique<FdWatcher>(loop, get_int(ZMQ_FD), FdWatcher::Events{.readable = true},
                                       [&loop, owner](FdWatcher::Events) { loop.wake(owner); });
}

ZmqSocket::~ZmqSocket() {
  waker_.reset();  // before the descriptor is closed
  CHECK_EQ(uninterrupted([this] { return zmq_close(socket_); }), 0);
}

void ZmqSocket::set(int option, int value) {
  CHECK_EQ(uninterrupted([&] { return zmq_setsockopt(socket_, option, &value, sizeof value); }), 0)
      << "option " << option << ": " << zmq_strerror(zmq_errno());
}

void ZmqSocket::set_text(int option, std::string_view value) {
  CHECK_EQ(
      uninterrupted([&] { return zmq_setsockopt(socket_, option, value.data(), value.size()); }), 0)
      << "option " << option << ": " << zmq_strerror(zmq_errno());
}

int ZmqSocket::get_int(int option) const {
  int value = 0;
  size_t size = sizeof value;
  CHECK_EQ(uninterrupted([&] { return zmq_getsockopt(socket_, option, &value, &size); }), 0)
      << "option " << option << ": " << zmq_strerror(zmq_errno());
  return value;
}

std::string ZmqSocket::get_text(int option) const {
  std::array<char, 512> value{};
  size_t size = value.size();
  CHECK_EQ(uninterrupted([&] { return zmq_getsockopt(socket_, option, value.data(), &size); }), 0);
  return std::string(value.data(), size > 0 ? size - 1 : 0);
}

bool ZmqSocket::is_readable() const { return (get_int(ZMQ_EVENTS) & ZMQ_POLLIN) != 0; }
bool ZmqSocket::is_writable() const { return (get_int(ZMQ_EVENTS) & ZMQ_POLLOUT) != 0; }

ZmqMonitor::ZmqMonitor(Loop& loop, ZmqSocket& of, int kinds, Pump* owner)
    : of_(of), pair_(loop, ZMQ_PAIR, owner) {
  static std::atomic<uint64_t> count{0};  // unique names within the process
  const std::string endpoint = text("inproc://monitor-", ++count);
  CHECK_EQ(uninterrupted([&] { return zmq_socket_monitor(of.get(), endpoint.c_str(), kinds); }), 0);
  // Unlimited, since a burst of disconnects would otherwise lose events; the loop reads them every
  // turn.
  pair_.set(ZMQ_RCVHWM, 0);
  CHECK_EQ(uninterrupted([&] { return zmq_connect(pair_.get(), endpoint.c_str()); }), 0);
}

ZmqMonitor::~ZmqMonitor() { zmq_socket_monitor(of_.get(), nullptr, 0); }

// Two parts: 16 bits of kind and 32 bits of value, then the address.
std::optional<ZmqMonitor::Event> ZmqMonitor::next() {
  std::array<char, 6> head{};
  const auto receive = [this](char* into, size_t bytes) {
    return uninterrupted([&] { return zmq_recv(pair_.get(), into, bytes, ZMQ_DONTWAIT); });
  };
  if (receive(head.data(), head.size()) != int{head.size()}) return std::nullopt;
  uint16_t kind = 0;
  int32_t value = 0;
  std::memcpy(&kind, head.data(), sizeof kind);
  std::memcpy(&value, head.data() + sizeof kind, sizeof value);
  while (pair_.get_int(ZMQ_RCVMORE) != 0) {
    std::array<char, 256> address{};
    receive(address.data(), address.size());
  }
  return Event{.kind = kind, .value = value};
}

}  // namespace proffer
