#pragma once

// Inside net only: one end of a connection that carries frames over a stream socket.

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "common/time.h"
#include "net/fd.h"
#include "net/frame_reader.h"
#include "net/loop.h"

namespace proffer {

// Owned by shared_ptr, since a handler may release it. Frames of a turn are sent together at its
// end. Nothing here blocks but linger().
class FrameSocket : public std::enable_shared_from_this<FrameSocket> {
 public:
  enum class End : uint8_t { kClosed, kMalformed };
  struct Handlers {
    std::function<void(std::span<const std::byte>)> on_frame = {};
    // Called once, from the loop, after the last frame. Not called after close().
    std::function<void(End)> on_end = {};
  };

  // `fd`: a connected, non-blocking socket. `queued_max`: bytes that may wait because the other end
  // reads slowly.
  static std::shared_ptr<FrameSocket> make(Loop& loop, Fd fd, size_t queued_max, Handlers handlers);
  ~FrameSocket();
  FrameSocket(const FrameSocket&) = delete;
  FrameSocket& operator=(const FrameSocket&) = delete;

  // False if too much is queued: the caller closes. If the other end has disconnected, the frame is
  // dropped and on_end follows.
  bool send(std::span<const std::byte> frame);
  size_t queued() const { return out_.size() - begin_; }  // bytes, with headers
  // Waits at most this long until everything is sent.
  void linger(Duration most);
  // No handler is called any more.
  void close();
  bool is_open() const { return fd_.get() >= 0; }

 private:
  FrameSocket(Loop& loop, Fd fd, size_t queued_max, Handlers handlers);
  void on_events(FdWatcher::Events events);
  void receive();
  void flush();
  void end(End why);

  Loop& loop_;
  Fd fd_;
  size_t queued_max_;
  Handlers handlers_;
  FrameReader reader_;
  std::vector<std::byte> out_;  // unsent from begin_ on
  size_t begin_ = 0;
  bool is_flush_due_ = false;
  bool is_blocked_ = false;  // the kernel's buffer is full
  bool is_broken_ = false;   // writes fail; received bytes can still be read
  std::unique_ptr<FdWatcher> watcher_;
};

}  // namespace proffer
