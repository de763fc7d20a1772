#include "net/own_address.h"

#include <array>
#include <memory>

#include <netdb.h>
#include <sys/socket.h>

#include "net/fd.h"

namespace proffer {

std::optional<std::string> own_address_towards(const Address& other) {
  addrinfo wanted{};
  wanted.ai_flags = AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  if (getaddrinfo(other.host.c_str(), std::to_string(other.port).c_str(), &wanted, &list) != 0) {
    return std::nullopt;
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(list, freeaddrinfo);
  const Fd fd(socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  std::array<char, NI_MAXHOST> name{};
  auto* const address = reinterpret_cast<sockaddr*>(&own);
  if (fd.get() < 0 || connect(fd.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      getsockname(fd.get(), address, &size) != 0 ||
      getnameinfo(address, size, name.data(), name.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return std::nullopt;
  }
  return std::string(name.data());
}

}  // namespace proffer
