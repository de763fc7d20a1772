#include "net/http_listener.h"

#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "net/local_address.h"

namespace proffer {
namespace {

constexpr int kHttpBacklog = 1024;
constexpr mode_t kForAllUsers = 0666;

Result<HttpListener> listen_on_tcp(const Address& address) {
  const std::string host = address.host == "localhost" ? "127.0.0.1" : address.host;
  sockaddr_storage storage{};
  socklen_t size = 0;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
  if (inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(address.port);
    size = sizeof *v4;
  } else if (inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(address.port);
    size = sizeof *v6;
  } else {
    return Error::invalid_argument(text("HTTP address ", quoted(address.host),
                                        " must be numeric, as in 127.0.0.1, or localhost"));
  }
  const auto failed = [&](int error) -> Error {
    if (error == EADDRINUSE) {
      return Error::failed_precondition(text("HTTP port ", address.port,
                                             " is in use by another program (listening on ",
                                             to_text(address), ")"))
          .with_hint("stop that program, or choose another --http_port; 0 takes any free one");
    }
    if (error == EADDRNOTAVAIL) {
      return Error::failed_precondition(text(quoted(host), " is not an address of this machine"))
          .with_hint("127.0.0.1 serves this machine only, 0.0.0.0 all its addresses");
    }
    return Error::unavailable(
        text("cannot listen on ", to_text(address), ": ", std::strerror(error)));
  };
  Fd fd(socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) return failed(errno);
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on,
             sizeof on);  // the old port may be in TIME_WAIT after a quick restart
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&storage), size) != 0) return failed(errno);
  if (::listen(fd.get(), kHttpBacklog) != 0) return failed(errno);
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&storage), &size) != 0)
    return failed(errno);
  const uint16_t port = ntohs(storage.ss_family == AF_INET ? v4->sin_port : v6->sin6_port);
  return HttpListener{std::move(fd), {.host = address.host, .port = port}};
}

Result<HttpListener> listen_at_path(const std::string& path) {
  const Result<sockaddr_un> address = local_address(path);
  if (!address) return address.error();
  const auto failed = [&](std::string_view what) {
    return Error::unavailable(text("cannot ", what, " ", quoted(path), ": ", std::strerror(errno)));
  };
  struct stat found {};
  if (lstat(path.c_str(), &found) == 0 && !S_ISSOCK(found.st_mode)) {
    return Error::failed_precondition(
        text("a file that is not a socket is at ", quoted(path), ", where HTTP is to be served"));
  }
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return failed("create a socket for");
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return failed("replace");
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    return failed("bind");
  }
  // Permissions are checked for each request, by its user.
  if (chmod(path.c_str(), kForAllUsers) != 0) return failed("open to all users");
  if (::listen(fd.get(), kHttpBacklog) != 0) return failed("listen at");
  return HttpListener{std::move(fd), {.socket = path}};
}

}  // namespace

Result<HttpListener> open_http_listener(const Address& address) {
  return address.socket.empty() ? listen_on_tcp(address) : listen_at_path(address.socket);
}

}  // namespace proffer
