// proffer ui: serves the page on a port of this machine to the user that runs it. Read
// Ui::on_request first.

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "cli/ui/link_file.h"
#include "cli/ui/relay.h"
#include "cli/ui/sessions.h"
#include "cli/ui/web_files.h"
#include "common/check.h"
#include "common/text.h"
#include "net/randomness.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

// Browsers keep several connections to each server open; other users of the machine may hold some
// too.
constexpr size_t kUiConnectionsMax = 256;
constexpr std::string_view kHost = "127.0.0.1";

HttpHeaders page_headers() {
  return {{"Content-Security-Policy",
           "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "
           "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"}};
}

void respond_error(HttpResponder& responder, const Error& error) {
  responder.respond_json(http_status(error.code()), proto::error_json(error));
}

class Ui {
 public:
  Ui(Loop& loop, std::vector<std::string> masters)
      : loop_(loop), relay_(loop, std::move(masters)) {}

  Result<void> listen(uint16_t port) {
    HttpServer::Options options;
    options.address = {.host = std::string(kHost), .port = port};
    options.connections_max = kUiConnectionsMax;
    options.encode_error = proto::error_json;
    options.handler = [this](const HttpRequest& request, HttpResponder responder) {
      on_request(request, std::move(responder));
    };
    Result<std::unique_ptr<HttpServer>> listening = HttpServer::listen(loop_, std::move(options));
    if (!listening) return std::move(listening).error();
    server_ = *std::move(listening);
    return {};
  }

  // Prints a link for one more browser.
  std::string offer() {
    const std::string key = random_secret().str();
    sessions_.offer(key, loop_.now());
    std::string link = text("http://", kHost, ":", server_->port(), "/#key=", key);
    print_line(link);
    return link;
  }

 private:
  void on_request(const HttpRequest& request, HttpResponder responder) {
    if (request.path == "/session") return begin_session(request, std::move(responder));
    for (const WebFile& file : web_files()) {
      if (file.path == request.path) return show(file, request, std::move(responder));
    }
    const bool is_of_master = request.path.starts_with("/v1/");
    if (!is_of_master && request.path != "/logs") {
      return respond_error(responder,
                           Error::not_found(text("nothing is served at ", quoted(request.path))));
    }
    constexpr std::string_view kBearer = "Bearer ";
    std::string_view token = request.header("authorization").value_or("");
    if (token.starts_with(kBearer)) token.remove_prefix(kBearer.size());
    if (!sessions_.is_known(token)) {
      return responder.respond_json(
          401,
          proto::error_json(Error::permission_denied("this tab has no session of this `proffer ui`")
                                .with_hint("open the newest link printed by `proffer ui`")));
    }
    if (is_of_master) return relay_.to_master(request, std::move(responder), token);
    relay_.to_output(request, std::move(responder), token);
  }

  void begin_session(const HttpRequest& request, HttpResponder responder) {
    if (request.method != "POST") {
      return responder.respond(405, "application/json",
                               proto::error_json(Error::unsupported("/session takes POST")),
                               {{"Allow", "POST"}});
    }
    const std::string token = random_secret().str();
    if (Result<void> begun = sessions_.begin(request.body, token, loop_.now()); !begun) {
      return respond_error(responder, begun.error());
    }
    responder.respond_json(200, proto::json_line({{"token", token}}));
    print_line("the link has been used; for another browser:");
    offer();
  }

  static void show(const WebFile& file, const HttpRequest& request, HttpResponder responder) {
    if (request.method == "POST") {
      return responder.respond(
          405, "application/json",
          proto::error_json(Error::unsupported(text(request.path, " takes GET, HEAD"))),
          {{"Allow", "GET, HEAD"}});
    }
    HttpHeaders headers = page_headers();
    headers.emplace_back("ETag", file.etag);
    headers.emplace_back("Cache-Control", "no-cache");
    if (request.header("if-none-match") == file.etag) {
      return responder.respond(304, "", "", std::move(headers));
    }
    responder.respond(200, file.type, std::string(file.body), std::move(headers));
  }

  Loop& loop_;
  UiSessions sessions_;
  UiRelay relay_;
  std::unique_ptr<HttpServer> server_;
};

// Starts the browser in its own session and without our terminal, so that it does not end with this
// process and does not print to the terminal. Prints a message if there is no browser.
void open_browser(const std::string& file) {
  std::string program = "xdg-open";
  std::string path = file;
  char* const words[] = {program.data(), path.data(), nullptr};
  pid_t pid = -1;
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  CHECK_EQ(posix_spawn_file_actions_init(&files), 0);
  CHECK_EQ(posix_spawnattr_init(&how), 0);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    CHECK_EQ(posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0), 0);
  }
  CHECK_EQ(posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID), 0);
  const int failed = ::posix_spawnp(&pid, "xdg-open", &files, &how, words, environ);
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) {
    print_error(Error::unavailable(text("cannot start xdg-open: ", std::strerror(failed)))
                    .with_hint("open the link in a browser yourself"),
                false);
  }
}

int run_ui(const std::vector<std::string>& words) {
  std::string master_flag;
  int64_t port = 0;
  bool opens = false;
  Arguments arguments(
      "proffer ui [--open] [--port N]",
      "serve the web page of the cluster to a browser on this machine, with your rights");
  arguments.master(&master_flag);
  arguments.flag("--open", &opens, "open it in the browser, with xdg-open");
  arguments.option("--port", &port, "port of 127.0.0.1 (default 0: any free port)");
  arguments.note("It runs until Ctrl-C.");
  arguments.examples({"proffer ui --open"});
  if (const auto status = arguments.parse(words)) return *status;
  if (port < 0 || port > 65'535) {
    return usage_error(Error::invalid_argument(text("--port must be from 0 to 65535, not ", port)),
                       false);
  }
  const Result<Masters> masters = master_address(master_flag);
  if (!masters) return usage_error(masters.error(), false);
  std::vector<std::string> sockets;
  for (const Address& one : *masters) {
    if (!one.socket.empty()) sockets.push_back(http_socket_beside(one.socket));
  }
  if (sockets.empty()) {
    return print_error(
        Error::unsupported(text("proffer ui needs a master's socket, not ", to_text(*masters)))
            .with_hint("run it on a master's machine, and connect with ssh: `ssh -L "
                       "8080:127.0.0.1:8080 MACHINE proffer ui --port=8080`"),
        false);
  }
  Loop loop;
  Ui ui(loop, std::move(sockets));
  if (Result<void> listening = ui.listen(static_cast<uint16_t>(port)); !listening) {
    return print_error(listening.error(), false);
  }
  for (const int signal : {SIGINT, SIGTERM}) loop.on_signal(signal, [&loop] { loop.stop(); });
  loop.on_signal(SIGCHLD, [] {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  });
  print_line(
      "the web page of the cluster; the link works once, within 10 minutes; press Ctrl-C to end");
  const std::string link = ui.offer();
  std::optional<LinkFile> file;
  if (opens) {
    Result<LinkFile> written = LinkFile::write(link);
    if (written) {
      file.emplace(*std::move(written));
      open_browser(file->path());
    } else {
      print_error(written.error(), false);
    }
  }
  loop.run();
  return 0;
}

}  // namespace
}  // namespace proffer::cli

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  google::InitGoogleLogging(argv[0]);
  return proffer::cli::after_output(proffer::cli::run_ui({argv + 1, argv + argc}));
}
