#pragma once

// Inside net only: a ZeroMQ socket that wakes the loop, and its monitor.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <zmq.h>

#include "net/loop.h"

namespace proffer {

// Whether a signal interrupted the last failed call into libzmq.
bool was_interrupted();

// Repeats a call that a signal interrupted: each call into libzmq, even a non-blocking one, may
// wait briefly inside, and SIGCHLD is frequent where tasks run.
template <class Call>
int uninterrupted(Call call) {
  int result = call();
  while (result < 0 && was_interrupted()) result = call();
  return result;
}

// An outgoing frame, copied once. The frames of a turn are sent directly after each other: the
// first wakes libzmq's thread, and the others are there when it looks. Otherwise each would wake it
// again.
class OutgoingFrame {
 public:
  explicit OutgoingFrame(std::span<const std::byte> bytes);
  OutgoingFrame(OutgoingFrame&& other) noexcept;
  OutgoingFrame& operator=(OutgoingFrame&&) = delete;
  ~OutgoingFrame() { zmq_msg_close(&message_); }

  size_t size() const { return zmq_msg_size(&message_); }
  // Empty afterwards; if it fails (with zmq_errno()) the frame is unchanged.
  bool send(void* socket);

 private:
  zmq_msg_t message_;
};
// At most this many frames of a socket wait for the end of the turn; the next one sends all of
// them.
inline constexpr size_t kFramesHeldMax = 16;

// The loop's ZeroMQ context, made at first use. It ends with the loop, which then waits for
// lingering sockets.
void* zmq_context(Loop& loop);
// The authentication handler of this context, if there is one (net/zap.h).
std::weak_ptr<void>& zmq_zap_handler(Loop& loop);

// Its descriptor only wakes the owner, which polls for messages as a Pump. Closing returns at once;
// libzmq finishes in the background, at most for the linger time.
class ZmqSocket {
 public:
  ZmqSocket(Loop& loop, int type, Pump* owner);
  ~ZmqSocket();
  ZmqSocket(const ZmqSocket&) = delete;
  ZmqSocket& operator=(const ZmqSocket&) = delete;

  void* get() const { return socket_; }
  void set(int option, int value);
  void set_text(int option, std::string_view value);
  int get_int(int option) const;
  std::string get_text(int option) const;
  bool is_readable() const;
  bool is_writable() const;

 private:
  void* socket_;
  std::unique_ptr<FdWatcher> waker_;
};

// libzmq's events about the connections of `of`, which must outlive it, for the same owner. Must be
// made before `of` binds or connects.
class ZmqMonitor {
 public:
  struct Event {
    int kind = 0;   // ZMQ_EVENT_…
    int value = 0;  // a descriptor or an errno, depending on `kind`
  };
  ZmqMonitor(Loop& loop, ZmqSocket& of, int kinds, Pump* owner);
  ~ZmqMonitor();
  ZmqMonitor(const ZmqMonitor&) = delete;
  ZmqMonitor& operator=(const ZmqMonitor&) = delete;

  std::optional<Event> next();
  bool is_readable() const { return pair_.is_readable(); }

 private:
  ZmqSocket& of_;
  ZmqSocket pair_;
};

}  // namespace proffer
