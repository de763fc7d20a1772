// A check: look() begins it, on_ready or on_command_ended continue it, finish() or on_timeout end
// it. All sockets are non-blocking and nothing here waits, since the task may behave badly.

#include "slave/executor/health_probe.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/check.h"
#include "common/text.h"
#include "slave/executor/command.h"

namespace proffer::executor {
namespace {

using Kind = proto::HealthCheck::Kind;

// For example "connection refused", in lower case unlike strerror.
Looked failed(int error) {
  std::string words = std::strerror(error);
  if (!words.empty() && words[0] >= 'A' && words[0] <= 'Z') {
    words[0] = static_cast<char>(words[0] - 'A' + 'a');
  }
  return {words};
}

bool is_not_yet(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

std::string request_of(const HealthProbeOptions& options) {
  if (options.check.kind != Kind::kHttp) return {};
  return text("GET ", options.check.path, " HTTP/1.1\r\nHost: 127.0.0.1:", options.port,
              "\r\nUser-Agent: proffer-health\r\nAccept: */*\r\nConnection: close\r\n\r\n");
}

}  // namespace

HealthProbe::HealthProbe(Loop& loop, HealthProbeOptions options,
                         std::function<void(const Looked&)> on_looked)
    : loop_(loop),
      options_(std::move(options)),
      on_looked_(std::move(on_looked)),
      timeout_(loop, [this] { on_timeout(); }) {}

HealthProbe::~HealthProbe() {
  watcher_.reset();
  if (command_ != 0) kill(-command_, SIGKILL);
}

void HealthProbe::look() {
  CHECK(!looking_) << "two checks at once";
  looking_ = true;
  timeout_.arm(loop_.now() + options_.check.timeout);
  if (options_.check.kind == Kind::kCommand) return run_command();
  connect_to_port();
}

void HealthProbe::finish(Looked looked) {
  looking_ = false;
  timeout_.arm(std::nullopt);
  watcher_.reset();
  socket_ = Fd();
  on_looked_(looked);
}

void HealthProbe::on_timeout() {
  const std::string within = text(" within ", to_text(options_.check.timeout));
  if (options_.check.kind == Kind::kCommand) {
    kill(-command_, SIGKILL);
    return finish({"its command did not end" + within});
  }
  finish({(connected_ ? "no answer" : "no connection") + within});
}

// --- a port ------------------------------------------------------------------------------------

void HealthProbe::connect_to_port() {
  connected_ = false;
  request_ = request_of(options_);
  answer_.clear();
  socket_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket_.get() < 0) return finish(failed(errno));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(options_.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
      errno != EINPROGRESS && errno != EINTR) {
    return finish(failed(errno));
  }
  watcher_ = std::make_unique<FdWatcher>(loop_, socket_.get(), FdWatcher::Events{.writable = true},
                                         [this](FdWatcher::Events) { on_ready(); });
}

void HealthProbe::on_ready() {
  if (!connected_) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return finish(failed(error));
    if (!has_connected()) return;
    // If a port of the ephemeral range has no listener, a connection to it may connect to itself.
    sockaddr_in here = {};
    size = sizeof here;
    getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&here), &size);
    if (ntohs(here.sin_port) == options_.port) return finish(failed(ECONNREFUSED));
    connected_ = true;
    if (options_.check.kind == Kind::kTcp) return finish({});
  }
  if (!request_.empty()) return send_request();
  receive_answer();
}

bool HealthProbe::has_connected() {
  sockaddr_in there = {};
  socklen_t size = sizeof there;
  return getpeername(socket_.get(), reinterpret_cast<sockaddr*>(&there), &size) == 0;
}

void HealthProbe::send_request() {
  const ssize_t sent = ::send(socket_.get(), request_.data(), request_.size(), MSG_NOSIGNAL);
  if (sent < 0) {
    if (is_not_yet(errno)) return;
    return finish(failed(errno));
  }
  request_.erase(0, static_cast<size_t>(sent));
  if (request_.empty()) watcher_->want({.readable = true});
}

void HealthProbe::receive_answer() {
  char buffer[kStatusLineBytesMax];
  const ssize_t got = ::recv(socket_.get(), buffer, sizeof buffer, 0);
  if (got < 0) {
    if (is_not_yet(errno)) return;
    return finish(failed(errno));
  }
  if (got == 0) {
    return finish({answer_.empty() ? "the connection was closed without an answer"
                                   : "the connection was closed in the first line of the answer"});
  }
  answer_.append(buffer, static_cast<size_t>(got));
  if (std::optional<Looked> looked = judge_answer(answer_)) finish(*std::move(looked));
}

// --- a command ---------------------------------------------------------------------------------

void HealthProbe::run_command() {
  // A process that waits for a broken disk cannot be killed, so no further ones are started.
  if (command_ != 0) return finish({"the command of the last check cannot be ended"});
  const Result<pid_t> started = start_shell({.command = options_.check.command,
                                             .environment = options_.environment,
                                             .directory = options_.sandbox,
                                             .is_silent = true});
  if (!started) return finish({started.error().message()});
  command_ = *started;
}

void HealthProbe::on_command_ended(int wait_status) {
  command_ = 0;
  if (!looking_) return;  // It ended after the timeout.
  if (WIFSIGNALED(wait_status)) {
    return finish({text("its command was ended by signal ", WTERMSIG(wait_status))});
  }
  const int code = WEXITSTATUS(wait_status);
  finish(code == 0 ? Looked{} : Looked{text("its command ended with exit code ", code)});
}

}  // namespace proffer::executor
