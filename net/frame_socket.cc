// receive() passes on completed frames; send() collects frames, and flush() writes them at the end
// of the turn, or when the kernel has room again.

#include "net/frame_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

#include "common/check.h"

namespace proffer {
namespace {

constexpr size_t kReadBytes = 64 * 1024;  // per read; then other sockets are served

}  // namespace

std::shared_ptr<FrameSocket> FrameSocket::make(Loop& loop, Fd fd, size_t queued_max,
                                               Handlers handlers) {
  const std::shared_ptr<FrameSocket> made(
      new FrameSocket(loop, std::move(fd), queued_max, std::move(handlers)));
  // The loop has released the watcher when the watcher is destroyed with its owner, so the callback
  // may refer to the owner.
  made->watcher_ =
      std::make_unique<FdWatcher>(loop, made->fd_.get(), FdWatcher::Events{.readable = true},
                                  [raw = made.get()](FdWatcher::Events e) { raw->on_events(e); });
  return made;
}

FrameSocket::FrameSocket(Loop& loop, Fd fd, size_t queued_max, Handlers handlers)
    : loop_(loop), fd_(std::move(fd)), queued_max_(queued_max), handlers_(std::move(handlers)) {}

FrameSocket::~FrameSocket() { close(); }

void FrameSocket::close() {
  watcher_.reset();
  fd_ = Fd();
}

void FrameSocket::end(End why) {
  flush();  // earlier frames, as far as the kernel has room
  close();
  if (handlers_.on_end) handlers_.on_end(why);
}

void FrameSocket::on_events(FdWatcher::Events events) {
  const auto self = shared_from_this();  // a handler may release this object
  if (events.writable) flush();
  if (events.readable) receive();
}

void FrameSocket::receive() {
  std::array<std::byte, kReadBytes> bytes;  // not initialized, since only received bytes are used
  ssize_t got = 0;
  do {
    got = recv(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
  if (got <= 0) return end(End::kClosed);
  const FrameReader::Verdict verdict = reader_.take(
      std::span(bytes).first(static_cast<size_t>(got)), [this](std::span<const std::byte> frame) {
        if (handlers_.on_frame) handlers_.on_frame(frame);
        return is_open();
      });
  if (verdict == FrameReader::Verdict::kMalformed && is_open()) end(End::kMalformed);
}

bool FrameSocket::send(std::span<const std::byte> frame) {
  CHECK(!frame.empty() && frame.size() <= kFrameBytesMax) << "frame of " << frame.size();
  if (!is_open() || is_broken_) return true;
  if (queued() + kFrameHeaderBytes + frame.size() > queued_max_) return false;
  const auto header = frame_header(frame.size());
  out_.insert(out_.end(), header.begin(), header.end());
  out_.insert(out_.end(), frame.begin(), frame.end());
  // A large amount is not collected until the end of the turn.
  if (queued() >= kReadBytes && !is_blocked_) flush();
  if (!is_blocked_ && !std::exchange(is_flush_due_, true)) {
    loop_.defer([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self == nullptr) return;
      self->is_flush_due_ = false;
      self->flush();
    });
  }
  return true;
}

void FrameSocket::flush() {
  while (is_open() && begin_ < out_.size()) {
    const ssize_t sent =
        ::send(fd_.get(), out_.data() + begin_, out_.size() - begin_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!std::exchange(is_blocked_, true)) watcher_->want({.readable = true, .writable = true});
      break;
    }
    if (sent < 0) {  // Reading will find the end, after the last frame.
      is_broken_ = true;
      begin_ = out_.size();
      break;
    }
    begin_ += static_cast<size_t>(sent);
  }
  if (begin_ == out_.size()) {
    out_.clear();
    begin_ = 0;
    if (is_open() && std::exchange(is_blocked_, false)) watcher_->want({.readable = true});
  } else if (begin_ >= out_.size() / 2) {
    out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }
}

void FrameSocket::linger(Duration most) {
  const Time deadline = loop_.now() + most;
  flush();
  while (is_open() && !is_broken_ && queued() > 0) {
    const Duration left = deadline - loop_.now();
    if (left <= Duration()) return;
    pollfd room{.fd = fd_.get(), .events = POLLOUT, .revents = 0};
    if (poll(&room, 1, static_cast<int>(left.millis()) + 1) < 0 && errno != EINTR) return;
    flush();
  }
}

}  // namespace proffer
