#include "cli/ui/upstream.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include "common/text.h"
#include "net/local_address.h"

namespace proffer::cli {
namespace {

// Parses "HTTP/1.1 200 OK" and the lines below it; empty if it is not an HTTP answer.
std::optional<UpstreamHead> parse_upstream_head(std::string_view text_given) {
  UpstreamHead head;
  bool is_first = true;
  while (!text_given.empty()) {
    const size_t end = text_given.find("\r\n");
    const std::string_view line = text_given.substr(0, end);
    text_given.remove_prefix(end == text_given.npos ? text_given.size() : end + 2);
    if (std::exchange(is_first, false)) {
      if (!line.starts_with("HTTP/1.") || line.size() < 12) return std::nullopt;
      for (const char c : line.substr(9, 3)) {
        if (c < '0' || c > '9') return std::nullopt;
        head.status = head.status * 10 + (c - '0');
      }
      continue;
    }
    const size_t colon = line.find(':');
    if (colon == line.npos) return std::nullopt;
    std::string name(line.substr(0, colon));
    for (char& c : name) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    head.headers.emplace_back(std::move(name), trimmed(line.substr(colon + 1)));
  }
  if (head.status < 200 || head.status > 599) return std::nullopt;
  return head;
}

}  // namespace

std::string_view UpstreamHead::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

Result<std::unique_ptr<Upstream>> Upstream::start(Loop& loop, const std::string& socket_path,
                                                  std::string request, Heard heard) {
  const Result<sockaddr_un> at = local_address(socket_path);
  if (!at) return at.error();
  // connect() on a Unix socket succeeds at once, or fails with EAGAIN if its queue is full.
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0 ||
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&*at), sizeof *at) != 0) {
    return Error::unavailable(
        text("no process listens at ", quoted(socket_path), ": ",
             errno == EAGAIN ? "too many connections are waiting there" : std::strerror(errno)));
  }
  return std::unique_ptr<Upstream>(
      new Upstream(loop, std::move(fd), std::move(request), std::move(heard)));
}

Upstream::Upstream(Loop& loop, Fd fd, std::string request, Heard heard)
    : fd_(std::move(fd)), request_(std::move(request)), heard_(std::move(heard)) {
  watcher_ = std::make_unique<FdWatcher>(loop, fd_.get(), FdWatcher::Events{.writable = true},
                                         [this](FdWatcher::Events) { go_on(); });
}

Upstream::~Upstream() = default;

void Upstream::pause() {
  is_paused_ = true;
  want();
}

void Upstream::resume() {
  is_paused_ = false;
  want();
}

void Upstream::want() {
  if (is_over_) return;
  watcher_->want({.readable = request_.empty() && !is_paused_, .writable = !request_.empty()});
}

void Upstream::go_on() {
  if (is_over_) return;
  if (!request_.empty()) {
    send();
  } else if (!is_paused_) {
    receive();
  }
}

void Upstream::send() {
  const ssize_t sent = ::send(fd_.get(), request_.data(), request_.size(), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (sent < 0) {
    return finish(Error::unavailable(text("cannot send the request: ", std::strerror(errno))));
  }
  request_.erase(0, static_cast<size_t>(sent));
  want();
}

// Reads one block per turn, so that an endless answer does not block others.
void Upstream::receive() {
  std::array<char, 64 * 1024> room;
  const ssize_t got = ::recv(fd_.get(), room.data(), room.size(), 0);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got < 0) {
    return finish(Error::unavailable(text("the connection broke: ", std::strerror(errno))));
  }
  if (got > 0) return take({room.data(), static_cast<size_t>(got)});
  if (!has_head_ || (length_ && got_ < *length_)) {
    return finish(Error::unavailable("the connection was closed before the answer was complete"));
  }
  finish({});
}

void Upstream::take(std::string_view bytes) {
  if (!has_head_) {
    head_ += bytes;
    const size_t end = head_.find("\r\n\r\n");
    if (end == head_.npos) {
      if (head_.size() > kUpstreamHeadBytesMax) {
        finish(Error::unavailable("the header of the answer is too long"));
      }
      return;
    }
    const std::optional<UpstreamHead> head =
        parse_upstream_head(std::string_view(head_).substr(0, end));
    if (!head) return finish(Error::unavailable("the answer is not HTTP"));
    has_head_ = true;
    if (const std::string_view length = head->header("content-length"); !length.empty()) {
      size_t bytes_told = 0;
      for (const char c : length) {
        if (c < '0' || c > '9' || bytes_told > (size_t{1} << 40)) {
          return finish(Error::unavailable("the answer has no numeric length"));
        }
        bytes_told = bytes_told * 10 + static_cast<size_t>(c - '0');
      }
      length_ = bytes_told;
    }
    const std::string rest = head_.substr(end + 4);
    head_.clear();
    heard_.head(*head);
    got_ = rest.size();
    if (!rest.empty()) heard_.body(rest);
  } else {
    got_ += bytes.size();
    heard_.body(bytes);
  }
}

void Upstream::finish(Result<void> result) {
  if (std::exchange(is_over_, true)) return;
  watcher_->want({});
  heard_.end(std::move(result));
}

}  // namespace proffer::cli
