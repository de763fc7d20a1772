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

// Whether the last failed call into libzmq was cut by a signal.
bool was_interrupted();

// Calls again while a signal interrupted it: any call into libzmq may wait for a moment inside,
// also a non-blocking one, and SIGCHLD comes often where tasks are run.
template <class Call>
int uninterrupted(Call call) {
  int result = call();
  while (result < 0 && was_interrupted()) result = call();
  return result;
}

// A frame on its way out, copied once. Frames of one turn are sent one right after the other: the
// first wakes libzmq's thread, and the others are there when it looks. Sent one by one, each wakes
// it again.
class OutgoingFrame {
 public:
  explicit OutgoingFrame(std::span<const std::byte> bytes);
  OutgoingFrame(OutgoingFrame&& other) noexcept;
  OutgoingFrame& operator=(OutgoingFrame&&) = delete;
  ~OutgoingFrame() { zmq_msg_close(&message_); }

  size_t size() const { return zmq_msg_size(&message_); }
  // Empty afterwards; if it fails (zmq_errno() says why) the frame is as it was.
  bool send(void* socket);

 private:
  zmq_msg_t message_;
};
// So many frames of one socket wait for the end of the turn; the next one sends all of them.
inline constexpr size_t kFramesHeldMax = 16;

// The loop's ZeroMQ context, made at first use; ended with the loop, which waits for lingering
// sockets then.
void* zmq_context(Loop& loop);
// The handler of authentication of this context, if there is one (net/zap.h).
std::weak_ptr<void>& zmq_zap_handler(Loop& loop);

// Its descriptor only wakes the owner, which asks for messages as a Pump. Closing is immediate for
// us; libzmq finishes in the background, at most for the linger that was set.
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

// What libzmq reports about the connections of `of`, which must outlive it, for the same owner.
// Made before `of` binds or connects.
class ZmqMonitor {
 public:
  struct Event {
    int kind = 0;   // ZMQ_EVENT_…
    int value = 0;  // a descriptor or an errno, by kind
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
