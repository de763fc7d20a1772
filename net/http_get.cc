#include "net/http_get.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "common/text.h"
#include "net/address.h"
#include "net/local_address.h"

namespace proffer {
namespace {

constexpr size_t kReadAtOnce = size_t{64} << 10;
// The kernel repeats an unanswered connection request after 1 s, 2 s and 4 s, and gives up after 7
// s. Its default is two minutes.
constexpr int kConnectRetries = 2;

Error no_connection(const std::string& address, std::string_view why) {
  return Error::unavailable(text("cannot connect to ", address, ": ", why));
}

// The socket blocks here: a non-blocking connect() to a Unix socket with a full queue fails at
// once.
Result<Fd> connect_to_path(const std::string& path) {
  constexpr timeval kQueueMax{.tv_sec = 5, .tv_usec = 0};
  const Result<sockaddr_un> at = local_address(path);
  if (!at) return at.error();
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd.get() < 0 ||
      setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &kQueueMax, sizeof kQueueMax) != 0 ||
      connect(fd.get(), reinterpret_cast<const sockaddr*>(&*at), sizeof *at) != 0 ||
      fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) {
    return no_connection(path, std::strerror(errno));
  }
  return fd;
}

Result<Fd> connect_to(const std::string& address) {
  if (address.starts_with('/')) return connect_to_path(address);
  const Result<Address> parsed = parse_address("an HTTP address", address);
  if (!parsed) return parsed.error();
  addrinfo wanted{};
  wanted.ai_flags = AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int failed =
          getaddrinfo(parsed->host.c_str(), std::to_string(parsed->port).c_str(), &wanted, &list);
      failed != 0) {
    return no_connection(address, gai_strerror(failed));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(list, freeaddrinfo);
  Fd fd(socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0 ||
      setsockopt(fd.get(), IPPROTO_TCP, TCP_SYNCNT, &kConnectRetries, sizeof kConnectRetries) !=
          0 ||
      (connect(fd.get(), found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS)) {
    return no_connection(address, std::strerror(errno));
  }
  return fd;
}

int64_t now_millis() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

}  // namespace

std::string percent_encoded(std::string_view path) {
  constexpr std::string_view kPlain = "-._~/";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_alphanumeric =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_alphanumeric || kPlain.find(c) != std::string_view::npos) {
      encoded += c;
    } else {
      encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return encoded;
}

Result<HttpGet> HttpGet::start(const HttpPlace& place, std::string_view target,
                               HttpReader::Body body, std::string_view headers) {
  // An agent on another machine has a pin or a token; a path is on this machine.
  const bool is_path = place.address.starts_with('/');
  if (is_path && (!place.pin.empty() || !place.token.empty())) {
    return Error::invalid_argument(
        text("an agent on another machine is at host:port, not at ", quoted(place.address)));
  }
  Result<Fd> fd = connect_to(place.address);
  if (!fd) return std::move(fd).error();
  std::unique_ptr<TlsClient> tls;
  if (!place.pin.empty()) {
    Result<std::unique_ptr<TlsClient>> begun = TlsClient::start(fd->get(), place.pin);
    if (!begun) return std::move(begun).error();
    tls = *std::move(begun);
  }
  const std::string_view host = is_path ? "localhost" : std::string_view(place.address);
  return HttpGet(*std::move(fd), std::move(tls),
                 text("GET ", target, " HTTP/1.1\r\nHost: ", host, "\r\nConnection: close\r\n",
                      place.token.empty() ? "" : "Authorization: Bearer ", place.token,
                      place.token.empty() ? "" : "\r\n", headers, "\r\n"),
                 std::move(body));
}

short HttpGet::events() const {
  if (tls_ != nullptr) return tls_->events();
  return request_.empty() ? POLLIN : POLLOUT;
}

// True: the whole request was sent.
Result<bool> HttpGet::send_request() {
  while (!request_.empty()) {
    size_t sent = 0;
    if (tls_ != nullptr) {
      const Result<bool> trusted = tls_->shake_hands();
      if (!trusted || !*trusted) return trusted;
      const Result<size_t> went = tls_->send(request_.data(), request_.size());
      if (!went) return went.error();
      sent = *went;
      if (sent == 0) return false;
    } else {
      const ssize_t went = ::send(fd_.get(), request_.data(), request_.size(), MSG_NOSIGNAL);
      if (went < 0 && errno == EINTR) continue;
      if (went < 0 && (errno == EAGAIN || errno == ENOTCONN)) return false;
      if (went < 0) {
        return Error::unavailable(text("cannot send a request: ", std::strerror(errno)));
      }
      sent = static_cast<size_t>(went);
    }
    request_.erase(0, sent);
  }
  return true;
}

Result<std::optional<size_t>> HttpGet::receive(char* bytes, size_t count) {
  if (tls_ != nullptr) return tls_->receive(bytes, count);
  while (true) {
    const ssize_t got = recv(fd_.get(), bytes, count, 0);
    if (got >= 0) return std::optional(static_cast<size_t>(got));
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return std::optional<size_t>();
    return Error::unavailable(text("the connection broke: ", std::strerror(errno)));
  }
}

Result<bool> HttpGet::go_on() {
  const Result<bool> sent = send_request();
  if (!sent || !*sent) return sent;
  std::array<char, kReadAtOnce> room;
  while (!reader_.is_whole()) {
    const Result<std::optional<size_t>> got = receive(room.data(), room.size());
    if (!got) return got.error();
    if (!*got) return false;
    Result<void> read = **got == 0 ? reader_.close() : reader_.take({room.data(), **got});
    if (!read) return std::move(read).error();
  }
  return true;
}

Result<HttpAnswer> http_get(const HttpPlace& place, std::string_view target, HttpReader::Body body,
                            const HttpDeadlines& deadlines) {
  Result<HttpGet> get = HttpGet::start(place, target, std::move(body));
  if (!get) return std::move(get).error();
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  const int64_t begin = now_millis();
  const int64_t to_begin = begin + deadlines.begin_max.millis();
  const int64_t to_end = deadlines.end_max ? begin + deadlines.end_max->millis() : kNever;
  while (true) {
    const Result<bool> whole = get->go_on();
    if (!whole) return whole.error();
    const HttpReader& answer = get->answer();
    if (*whole) return HttpAnswer{answer.status(), answer.reason()};
    const int64_t until = std::min(answer.status() == 0 ? to_begin : kNever, to_end);
    const int64_t now = now_millis();
    if (now >= until) return Error::timeout(text(place.address, " did not answer in time"));
    pollfd ready{.fd = get->fd(), .events = get->events(), .revents = 0};
    poll(&ready, 1,
         until == kNever ? -1 : static_cast<int>(std::min<int64_t>(until - now, 60'000)));
  }
}

}  // namespace proffer
