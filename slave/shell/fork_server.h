#pragma once

// The agent's side of the fork server (slave/executor/fork_server.h): a fork server that is started
// when it is first needed, and again after it has ended. It forks an executor at each call.

#include <span>
#include <string>
#include <utility>

#include <sys/types.h>

#include "common/result.h"
#include "net/fd.h"
#include "slave/executor/launch_request.h"

namespace proffer::agent {

class ForkServer {
 public:
  // `program` is proffer-executor's path. `descriptors`: see SpawnOptions; executors inherit it.
  explicit ForkServer(std::string program, size_t descriptors = 0)
      : program_(std::move(program)), descriptors_(descriptors) {}
  // Waits for its process, which ends when its socket is closed, or is killed after 1 s.
  ~ForkServer();
  ForkServer(const ForkServer&) = delete;
  ForkServer& operator=(const ForkServer&) = delete;

  // Forks a child of this process in a new session, in the directory PROFFER_SANDBOX, with its
  // output there. Blocks for the fork, like posix_spawn. If the child fails, it writes the error to
  // `stderr` there and exits with 126. Errors: kNotFound (no such program), kInvalidArgument and
  // kResourceExhausted of encode_launch(), kResourceExhausted (of processes, disk, or memory),
  // kUnavailable. kTimeout: the fork server has ended, or was killed after 5 s without an answer;
  // the next call starts another. It may have forked before: then there is a child whose pid the
  // caller does not know. `passed`: as many descriptors as request.streams needs; they stay the
  // caller's.
  Result<pid_t> fork(const executor::LaunchRequest& request, std::span<const int> passed = {});

  // A child of this process that is no executor; 0: there is none.
  pid_t pid() const { return pid_; }
  // Its process has been reaped.
  void forget();

 private:
  Result<void> start();
  void end();
  // None if there was no answer.
  Result<pid_t> ask(const std::string& request, std::span<const int> passed, bool as_user);

  std::string program_;
  size_t descriptors_ = 0;
  pid_t pid_ = 0;
  Fd socket_;
};

}  // namespace proffer::agent
