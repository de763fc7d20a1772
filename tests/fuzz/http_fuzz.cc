// Hostile input for the HTTP port: the bytes of one loopback connection to a server whose loop runs
// in its own thread. Slower than other targets, because each input needs a connection.

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "common/check.h"
#include "net/http_server.h"
#include "tests/fuzz/laws.h"
#include "tests/net/support.h"

namespace proffer::fuzz {
namespace http_fuzz {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kSecret = "nobody outside may read this";

class Server {
 public:
  Server() {
    fs::create_directories(dir_.path() / "box/sub");
    dir_.write("secret", kSecret);
    dir_.write("box/stdout", "0123456789");
    fs::create_symlink("../secret", dir_.path() / "box/out");
    fs::create_symlink("../..", dir_.path() / "box/sub/up");
    HttpServer::Options options;
    options.names = {"a"};
    options.handler = [](const HttpRequest& request, HttpResponder responder) {
      CHECK(request.path.starts_with('/')) << request.path;
      CHECK(request.path.find('\0') == std::string::npos);
      CHECK_LE(request.body.size(), kHttpBodyBytesMax);
      if (request.path == "/silence") return;  // answers 500 by itself
      if (request.path == "/stream") {
        HttpStream stream = responder.stream(200, "text/plain");
        stream.write("a line\n");
        return stream.finish();
      }
      (void)request.param("q");
      (void)request.header("host");
      responder.respond_json(request.path == "/healthz" ? 200 : 404, "{}");
    };
    options.files = {
        .prefix = "/v1/files/",
        .resolve = [box = dir_.path() / "box"](std::string_view rest,
                                               const PrincipalPtr&) -> Result<ServedPath> {
          if (!rest.starts_with("task/")) return Error::not_found("no such task");
          Result<FilesRoot> root = open_root(box);
          if (!root) return root.error();
          return ServedPath{.root = *std::move(root), .relative = std::string(rest.substr(5))};
        },
        .encode_directory = [](const std::vector<DirEntry>&) { return std::string("{}"); }};
    Result<std::unique_ptr<HttpServer>> listening = HttpServer::listen(loop_, std::move(options));
    CHECK(listening) << listening.error().message();
    server_ = *std::move(listening);
    port_ = server_->port();
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Server() {
    loop_.post([this] { loop_.stop(); });
    thread_.join();
    server_.reset();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // The complete answer of one connection to these bytes. If the client closes its half of the
  // connection early, the server may not answer, but that closes an incomplete request.
  std::string ask(std::string_view bytes, bool half_close) const {
    const Fd fd = net_test::connect_tcp(port_);
    CHECK_GE(fd.get(), 0) << "refuses connections";
    net_test::send_all(fd, bytes);  // the server may close the connection before that
    if (half_close) ::shutdown(fd.get(), SHUT_WR);
    return net_test::receive_all(fd);
  }

 private:
  net_test::TempDir dir_;
  Loop loop_;
  std::unique_ptr<HttpServer> server_;
  uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace
}  // namespace http_fuzz

void fuzz_http(Input input) {
  static const http_fuzz::Server server;
  if (input.size() > 4 * kHttpRequestBytesMax) return;
  const std::string answer = server.ask(text_of(input), true);
  CHECK(answer.empty() || answer.starts_with("HTTP/1.")) << answer.substr(0, 200);
  // In a body, or in a chunk: errors quote the path, and libFuzzer learns the words from here.
  CHECK(answer.find("\r\n" + std::string(http_fuzz::kSecret)) == std::string::npos)
      << "left its root";
  // After any input, the next client is served.
  static int visits = 0;
  if (++visits % 8 != 0) return;
  const std::string healthy =
      server.ask("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", false);
  CHECK(healthy.starts_with("HTTP/1.1 200 ")) << healthy;
}

}  // namespace proffer::fuzz
