// Sends requests to the fork server and gets pids; the fork server forks.

#include "slave/shell/fork_server.h"

#include <cerrno>
#include <cstdint>
#include <optional>
#include <utility>

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "net/passed_fds.h"
#include "slave/shell/cgroups.h"
#include "slave/shell/processes.h"
#include "slave/shell/spawn.h"

namespace proffer::agent {
namespace {

// A machine that needs longer for a fork would not send heartbeats in time either.
constexpr int kAnswerMillisMax = 5'000;
constexpr int kEndMillisMax = 1'000;

}  // namespace

ForkServer::~ForkServer() {
  if (pid_ == 0) return;
  // Closes its socket, at which it ends.
  socket_ = Fd();
  const Fd process(watch_process(pid_));
  pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
  if (process.get() < 0 || poll(&ended, 1, kEndMillisMax) != 1) ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

Result<pid_t> ForkServer::fork(const executor::LaunchRequest& launch, std::span<const int> passed) {
  CHECK(passed.size() == executor::passed_with(launch.streams)) << passed.size();
  const Result<std::string> request = executor::encode_launch(launch);
  if (!request) return request.error();
  if (pid_ == 0) {
    if (Result<void> started = start(); !started) return std::move(started).error();
  }
  Result<pid_t> forked = ask(*request, passed, launch.run_as.has_value());
  if (!forked && forked.error().code() == ErrorCode::kTimeout) {
    LOG(WARNING) << "the fork server of executors does not answer, it is ended pid=" << pid_;
    end();
  }
  return forked;
}

Result<void> ForkServer::start() {
  if (access(program_.c_str(), X_OK) != 0) {
    return Error::not_found(text("there is no program ", quoted(program_)));
  }
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return start_error(program_, errno);
  }
  const Fd theirs(ends[1]);
  socket_ = Fd(ends[0]);
  const int room = static_cast<int>(2 * executor::kLaunchBytesMax);
  setsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  // Room for the environments of executors (slave/executor/fork_server.cc).
  Result<pid_t> pid =
      spawn({.arguments = {program_},
             .environment = {"PROFFER_ROOM=" + std::string(executor::kEnvironmentRoom, ' ')},
             .input = theirs.get(),
             .descriptors = descriptors_,
             // Root is not subject to it; tasks of ordinary users are.
             .processes = geteuid() == 0 ? processes_of_all() / 2 : 0});
  if (!pid) {
    socket_ = Fd();
    return std::move(pid).error();
  }
  pid_ = *pid;
  return {};
}

Result<pid_t> ForkServer::ask(const std::string& request, std::span<const int> passed,
                              bool as_user) {
  const Error silent = Error::timeout(text(program_, " does not answer"));
  if (send_with_fds(socket_.get(), request, passed, MSG_DONTWAIT) < 0) return silent;
  int32_t answer = 0;
  while (true) {
    pollfd ready{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    const int found = poll(&ready, 1, kAnswerMillisMax);
    if (found < 0 && errno == EINTR) continue;
    if (found <= 0) return silent;
    const ssize_t got = recv(socket_.get(), &answer, sizeof answer, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof answer) return silent;
    break;
  }
  if (answer <= 0) return start_error("an executor", -answer, as_user);
  return answer;
}

// It is reaped with the other children, when this object has forgotten it.
void ForkServer::end() {
  if (pid_ != 0) ::kill(pid_, SIGKILL);
  forget();
}

void ForkServer::forget() {
  pid_ = 0;
  socket_ = Fd();
}

}  // namespace proffer::agent
