// accept_some makes callers; on_readable gets their messages and the end of their connection; ended
// and shut end them.

#include "slave/shell/exec_server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <variant>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "net/local_address.h"
#include "net/passed_fds.h"
#include "net/users.h"
#include "proto/json/json.h"

namespace proffer::agent {
namespace {

constexpr int kAcceptsPerTurn = 16;
constexpr Duration kAcceptAgain = milliseconds(100);  // if descriptors have run out
constexpr size_t kTerminalStreams = 1;
constexpr size_t kStreams = 3;

// The member with this name, if it exists and has this type.
template <class Value>
bool take(const std::map<std::string, proto::JsonValue>& members, const std::string& name,
          Value& out) {
  const auto at = members.find(name);
  if (at == members.end()) return false;
  const auto* value = std::get_if<Value>(&at->second);
  if (value == nullptr) return false;
  out = *value;
  return true;
}

}  // namespace

Result<ExecRequest> parse_exec_request(std::string_view json) {
  const auto members = proto::parse_json_line(json);
  if (!members) return members.error();
  std::string framework;
  std::string task;
  ExecRequest request;
  if (!take(*members, "framework", framework) || !take(*members, "task", task) ||
      !take(*members, "command", request.command) ||
      !take(*members, "terminal", request.is_terminal)) {
    return Error::invalid_argument(
        "a request to run a command needs framework, task, command and terminal");
  }
  if (request.command.empty() || request.command.find('\0') != std::string::npos) {
    return Error::invalid_argument("the command must not be empty, and must not have a NUL byte");
  }
  request.framework = FrameworkId(std::move(framework));
  request.task = TaskId(std::move(task));
  return request;
}

ExecServer::ExecServer(Loop& loop, std::string path, Handlers handlers)
    : loop_(loop),
      path_(std::move(path)),
      handlers_(std::move(handlers)),
      accept_timer_(loop, [this] { watcher_->want({.readable = true}); }),
      silence_timer_(loop, [this] { shut_the_silent(); }) {}

ExecServer::~ExecServer() { unlink(path_.c_str()); }

Result<std::unique_ptr<ExecServer>> ExecServer::bind(Loop& loop, const std::string& path,
                                                     Handlers handlers) {
  std::unique_ptr<ExecServer> server(new ExecServer(loop, path, std::move(handlers)));
  if (Result<void> listening = server->listen(); !listening) return std::move(listening).error();
  return server;
}

Result<void> ExecServer::listen() {
  const Result<sockaddr_un> address = local_address(path_);
  if (!address) return address.error();
  const auto refused = [&](std::string_view what) {
    return Error::unavailable(
        text("cannot ", what, " ", quoted(path_), ": ", std::strerror(errno)));
  };
  listening_ = Fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (listening_.get() < 0) return refused("create a socket for");
  if (unlink(path_.c_str()) != 0 && errno != ENOENT) return refused("replace");
  if (::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) !=
      0) {
    return refused("bind");
  }
  if (chmod(path_.c_str(), 0666) != 0) return refused("open");
  if (::listen(listening_.get(), static_cast<int>(kExecCallersMax)) != 0)
    return refused("listen at");
  watcher_ =
      std::make_unique<FdWatcher>(loop_, listening_.get(), FdWatcher::Events{.readable = true},
                                  [this](FdWatcher::Events) { accept_some(); });
  return {};
}

void ExecServer::accept_some() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    Fd fd(accept4(listening_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.get() < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return;
      if (errno == ECONNABORTED) continue;
      watcher_->want({});
      accept_timer_.arm(loop_.now() + kAcceptAgain);
      return;
    }
    ucred peer{};
    socklen_t size = sizeof peer;
    if (getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || !admits(peer.uid)) {
      continue;
    }
    const uint64_t id = ++last_id_;
    Caller& caller = callers_[id];
    caller.by = principal_of(peer.uid);
    caller.since = loop_.now();
    caller.watcher =
        std::make_unique<FdWatcher>(loop_, fd.get(), FdWatcher::Events{.readable = true},
                                    [this, id](FdWatcher::Events) { on_readable(id); });
    caller.socket = std::move(fd);
    if (!silence_timer_.is_armed()) silence_timer_.arm(loop_.now() + kExecCallWithin);
  }
}

bool ExecServer::admits(uint32_t uid) const {
  if (callers_.size() >= kExecCallersMax) return false;
  if (uid == 0 || uid == geteuid()) return true;
  const auto of_user = std::count_if(callers_.begin(), callers_.end(),
                                     [uid](const auto& one) { return one.second.by->uid == uid; });
  return static_cast<size_t>(of_user) < kExecCallersOfUserMax;
}

// Each message after the request is one byte, a signal.
void ExecServer::on_readable(uint64_t id) {
  const auto at = callers_.find(id);
  if (at == callers_.end()) return;
  std::vector<char> room(kExecBytesMax + 1);
  std::vector<Fd> streams;
  const ssize_t got = receive_with_fds(at->second.socket.get(), room, streams, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return shut(at);
  const std::string_view bytes(room.data(), static_cast<size_t>(got));
  if (at->second.pid != 0) {
    handlers_.signal(at->second.pid, static_cast<unsigned char>(bytes.front()) % NSIG);
    return;
  }
  on_request(id, bytes, streams);
}

void ExecServer::on_request(uint64_t id, std::string_view json, const std::vector<Fd>& streams) {
  const auto refuse = [&](const Error& error) {
    answer(id, proto::json_line({{"code", std::string(to_text(error.code()))},
                                 {"message", error.message()},
                                 {"hint", error.hint()}}));
  };
  if (json.size() > kExecBytesMax) {
    return refuse(Error::resource_exhausted(
        text("a request to run a command has at most ", kExecBytesMax, " bytes")));
  }
  const Result<ExecRequest> request = parse_exec_request(json);
  if (!request) return refuse(request.error());
  const size_t wanted = request->is_terminal ? kTerminalStreams : kStreams;
  if (streams.size() != wanted) {
    return refuse(Error::invalid_argument(text("a request to run a command must have ", wanted,
                                               " descriptors, not ", streams.size())));
  }
  std::vector<int> fds;
  for (const Fd& stream : streams) fds.push_back(stream.get());
  Caller& caller = callers_.at(id);
  const Result<pid_t> pid = handlers_.start(*request, caller.by, fds);
  if (!pid) return refuse(pid.error());
  caller.pid = *pid;
}

void ExecServer::ended(pid_t pid, int status) {
  const auto at = std::find_if(callers_.begin(), callers_.end(),
                               [pid](const auto& one) { return one.second.pid == pid; });
  if (at == callers_.end()) return;
  at->second.pid = 0;
  answer(at->first, WIFSIGNALED(status)
                        ? proto::json_line({{"signal", int64_t{WTERMSIG(status)}}})
                        : proto::json_line({{"exit_code", int64_t{WEXITSTATUS(status)}}}));
}

// The last message; a caller that does not read it does not need it.
void ExecServer::answer(uint64_t id, const std::string& json) {
  const auto at = callers_.find(id);
  send_with_fds(at->second.socket.get(), json, {}, MSG_DONTWAIT);
  shut(at);
}

void ExecServer::shut(Callers::iterator at) {
  if (at->second.pid != 0) handlers_.kill(at->second.pid);
  callers_.erase(at);
}

void ExecServer::shut_the_silent() {
  const Time now = loop_.now();
  bool again = false;
  for (auto at = callers_.begin(); at != callers_.end();) {
    const auto next = std::next(at);
    if (at->second.pid == 0 && at->second.since + kExecCallWithin <= now) {
      shut(at);
    } else {
      again = again || at->second.pid == 0;
    }
    at = next;
  }
  if (again) silence_timer_.arm(now + kExecCallWithin / 2);
}

}  // namespace proffer::agent
