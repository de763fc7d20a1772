// http_server ADDRESS PORT: answers every request with its process id and $GREETING, and /load with
// the text of the file $LOAD. SIGTERM ends it. $BAD makes it a bad version:
//
//   hang    it never listens                    404     it answers 404 to each request
//   slow    it answers after a second           hog     it allocates memory until it is killed
//   crash   it exits with code 9, $AFTER milliseconds after it began to listen
//   …       anything else: it exits at once with code 7

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string greeting() { return std::to_string(getpid()) + " " + variable("GREETING") + "\n"; }

std::string load() {
  std::ifstream file(variable("LOAD"));
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

std::string answer(const std::string& status, const std::string& body) {
  return "HTTP/1.1 " + status +
         "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

// Allocates until its limit ends it, with a maximum for machines without limits.
int take_memory() {
  std::vector<std::string> taken;
  while (taken.size() < 256) taken.emplace_back(size_t{4} << 20, 'x');
  std::fputs("nothing limits its memory\n", stderr);
  return 8;
}

int serve(const char* host, uint16_t port, const std::string& bad) {
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
  const auto crashes_at =
      Clock::now() + std::chrono::milliseconds(std::atoi(variable("AFTER").c_str()));
  while (true) {
    pollfd ready = {listener, POLLIN, 0};
    int wait = -1;
    if (bad == "crash") {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(crashes_at - Clock::now()).count();
      if (left <= 0) {
        std::fputs("gave up\n", stderr);
        return 9;
      }
      wait = static_cast<int>(left);
    }
    if (::poll(&ready, 1, wait) != 1) continue;
    const int client = ::accept(listener, nullptr, nullptr);
    if (client < 0) continue;
    char request[4096] = {};
    if (::recv(client, request, sizeof request, 0) > 0) {
      if (bad == "slow") ::poll(nullptr, 0, 1'000);
      const bool is_of_load = std::string_view(request, 9) == "GET /load";
      const std::string text =
          answer(bad == "404" ? "404 Not Found" : "200 OK", is_of_load ? load() : greeting());
      (void)!::send(client, text.data(), text.size(), MSG_NOSIGNAL);
    }
    ::close(client);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string bad = variable("BAD");
  if (bad == "hang") return ::pause();
  if (bad == "hog") return take_memory();
  if (argc != 3 || (!bad.empty() && bad != "404" && bad != "slow" && bad != "crash")) {
    std::fputs("cannot greet\n", stderr);
    return 7;
  }
  return serve(argv[1], static_cast<uint16_t>(std::atoi(argv[2])), bad);
}
