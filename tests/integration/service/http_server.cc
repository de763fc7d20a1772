// http_server ADDRESS PORT: answers every request there with its process id and $GREETING. Ends by
// SIGTERM, as a shell's command does; with $BAD it exits at once instead.

#include <cstdio>
#include <cstdlib>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

std::string answer() {
  const char* greeting = std::getenv("GREETING");
  const std::string body =
      std::to_string(getpid()) + " " + (greeting != nullptr ? greeting : "") + "\n";
  return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

int serve(const char* host, uint16_t port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = inet_addr(host);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener, 16) != 0) {
    std::perror("http_server");
    return 1;
  }
  while (true) {
    const int client = ::accept(listener, nullptr, nullptr);
    if (client < 0) continue;
    char request[4096];
    if (::recv(client, request, sizeof request, 0) > 0) {
      const std::string text = answer();
      (void)!::send(client, text.data(), text.size(), MSG_NOSIGNAL);
    }
    ::close(client);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::getenv("BAD") != nullptr) {
    std::fputs("cannot greet\n", stderr);
    return 7;
  }
  return serve(argv[1], static_cast<uint16_t>(std::atoi(argv[2])));
}
