#include "net/held_port.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "common/text.h"

namespace proffer {
namespace {

uint16_t port_of(const Fd& socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return ntohs(bound.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
}

Error cannot_hold(const Address& at) {
  const int why = errno;
  return Error::failed_precondition(
      text("cannot serve at ", to_text(at), ": ", std::strerror(why)));
}

}  // namespace

HeldPort::HeldPort(Fd socket, Address address)
    : socket_(std::move(socket)), address_(std::move(address)) {}

Result<HeldPort> HeldPort::take(const Address& at) {
  addrinfo wanted{};
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(at.host.c_str(), text(at.port).c_str(), &wanted, &found) != 0) {
    return Error::invalid_argument(
        text("a bind address must be numeric, as in 10.0.0.1 or fd00::1, not ", quoted(at.host)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);
  Fd socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return cannot_hold(at);
  // Two sockets may share a port while none of them listens, or only the later one does.
  const int yes = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0) return cannot_hold(at);
  Address held = at;
  held.port = port_of(socket);
  return HeldPort(std::move(socket), std::move(held));
}

}  // namespace proffer
