#pragma once

// The agent's end of the stem (slave/executor/stem.h): a process that is started at the first need,
// again when it has ended, and forks an executor at each call.

#include <span>
#include <string>
#include <utility>

#include <sys/types.h>

#include "common/result.h"
#include "net/fd.h"
#include "slave/executor/launch_request.h"

namespace proffer::agent {

class Stem {
 public:
  // `program` is proffer-executor's path. `descriptors`: see SpawnOptions; executors inherit it.
  explicit Stem(std::string program, size_t descriptors = 0)
      : program_(std::move(program)), descriptors_(descriptors) {}
  // It ends by itself, as its socket closes.
  ~Stem() = default;
  Stem(const Stem&) = delete;
  Stem& operator=(const Stem&) = delete;

  // A child of this process in its own session, in the directory that PROFFER_SANDBOX names, with
  // its output there. Blocks for the fork, as posix_spawn would. What goes wrong in the child is
  // written to `stderr` there, and it ends with 126.
  // Errors: kNotFound (no such program), kInvalidArgument and kResourceExhausted of
  // encode_launch(), kResourceExhausted (of processes, disk, or memory), kUnavailable. kTimeout: it
  // has ended, or did not answer for 5 s and was ended; the next call starts another. It may have
  // forked before: then there is one more child, and the caller does not know its pid.
  // `passed`: as many descriptors as request.streams says; they stay the caller's.
  Result<pid_t> fork(const executor::LaunchRequest& request, std::span<const int> passed = {});

  // It is a child of this process, too, and not an executor; 0 if there is none.
  pid_t pid() const { return pid_; }
  // It has been reaped.
  void forget();

 private:
  Result<void> start();
  void end();
  // Nothing if there was no answer.
  Result<pid_t> ask(const std::string& request, std::span<const int> passed, bool as_user);

  std::string program_;
  size_t descriptors_ = 0;
  pid_t pid_ = 0;
  Fd socket_;
};

}  // namespace proffer::agent
