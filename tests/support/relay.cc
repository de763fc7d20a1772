#include "tests/support/relay.h"

#include <algorithm>
#include <cerrno>
#include <future>
#include <optional>
#include <utility>

#include <arpa/inet.h>
#include <sys/socket.h>

#include "common/check.h"
#include "common/text.h"

namespace proffer::test {
namespace {

// More pieces than a ZooKeeper client has in flight; a connection with more is closed.
constexpr size_t kPiecesMax = 10'000;

}  // namespace

Relay::Relay(const std::string& server, Fd listener) : listener_(std::move(listener)) {
  server_.sin_family = AF_INET;
  server_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  server_.sin_port = htons(static_cast<uint16_t>(std::stoi(server.substr(server.rfind(':') + 1))));
  std::promise<void> started;
  thread_ = std::thread([this, &started] {
    Loop loop;
    loop_ = &loop;
    timer_ = std::make_unique<Timer>(loop, [this] { pass_on(); });
    const FdWatcher watcher(loop, listener_.get(), {.readable = true},
                            [this](FdWatcher::Events) { take(); });
    started.set_value();
    loop.run();
    links_.clear();
    timer_.reset();
  });
  started.get_future().wait();
}

Relay::~Relay() {
  loop_->post([this] { loop_->stop(); });
  thread_.join();
}

std::string Relay::address() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  CHECK_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return text("127.0.0.1:", ntohs(address.sin_port));
}

void Relay::delay(int millis) {
  loop_->post([this, millis] { delay_ = milliseconds(millis); });
}

void Relay::hold(bool to_server, bool to_clients) {
  loop_->post([this, to_server, to_clients] {
    holds_to_server_ = to_server;
    holds_to_clients_ = to_clients;
    pass_on();
  });
}

void Relay::cut() {
  loop_->post([this] {
    for (Link& link : links_) close(link);
  });
}

void Relay::take() {
  std::erase_if(links_, [](const Link& link) { return link.is_closed; });
  Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  Fd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // While the server is down, its port refuses connections; then this client's connection is closed
  // too.
  if (::connect(server.get(), reinterpret_cast<const sockaddr*>(&server_), sizeof server_) != 0) {
    return;
  }
  links_.push_back({.client = std::move(client), .server = std::move(server)});
  Link& link = links_.back();
  link.from_client = std::make_unique<FdWatcher>(
      *loop_, link.client.get(), FdWatcher::Events{.readable = true},
      [this, &link](FdWatcher::Events) { receive(link, link.client, link.to_server); });
  link.from_server = std::make_unique<FdWatcher>(
      *loop_, link.server.get(), FdWatcher::Events{.readable = true},
      [this, &link](FdWatcher::Events) { receive(link, link.server, link.to_client); });
}

void Relay::receive(Link& link, const Fd& from, std::deque<Piece>& pieces) {
  std::string bytes(size_t{64} << 10, '\0');
  const ssize_t count = ::recv(from.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return close(link);
  bytes.resize(static_cast<size_t>(count));
  if (pieces.size() >= kPiecesMax) return close(link);
  pieces.push_back({.due = loop_->now() + delay_, .bytes = std::move(bytes)});
  pass_on();
}

void Relay::pass_on() {
  const Time now = loop_->now();
  std::optional<Time> next;
  for (Link& link : links_) {
    if (link.is_closed) continue;
    const bool is_sound = (holds_to_server_ || send_some(link.server, link.to_server, now)) &&
                          (holds_to_clients_ || send_some(link.client, link.to_client, now));
    if (!is_sound) {
      close(link);
      continue;
    }
    const auto wait_for = [&](const std::deque<Piece>& pieces, bool is_held) {
      if (pieces.empty() || is_held) return;
      // Pieces that are due but could not be sent wait for a slow reader.
      const Time due = std::max(pieces.front().due, now + milliseconds(5));
      next = next ? std::min(*next, due) : due;
    };
    wait_for(link.to_server, holds_to_server_);
    wait_for(link.to_client, holds_to_clients_);
  }
  timer_->arm(next);
}

// False if the connection is broken.
bool Relay::send_some(const Fd& to, std::deque<Piece>& pieces, Time now) {
  while (!pieces.empty() && pieces.front().due <= now) {
    std::string& bytes = pieces.front().bytes;
    const ssize_t count = ::send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN;
    bytes.erase(0, static_cast<size_t>(count));
    if (!bytes.empty()) return true;
    pieces.pop_front();
  }
  return true;
}

// It stays in the list, because one of its handlers may be running.
void Relay::close(Link& link) {
  link.from_client.reset();
  link.from_server.reset();
  link.client = Fd();
  link.server = Fd();
  link.is_closed = true;
}

}  // namespace proffer::test
