#pragma once

// The agent's end of the stem (slave/executor/stem.h): a process that is started at the first need,
// again when it has ended, and forks an executor of commands at each call.

#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "common/result.h"
#include "net/fd.h"

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

  // A child of this process in its own session, with this environment, in the directory that
  // PROFFER_SANDBOX names there. Blocks for the fork, as posix_spawn would.
  // Errors: kNotFound (no such program), kInvalidArgument (a NUL in the environment),
  // kResourceExhausted (of processes, disk, or memory), kUnavailable. kTimeout: it has ended, or
  // did not answer for 5 s and was ended; the next call starts another. It may have forked before:
  // then there is a child more, of which nobody knows.
  Result<pid_t> fork(const std::vector<std::string>& environment);

  // It is a child of this process, too, and not an executor; 0 if there is none.
  pid_t pid() const { return pid_; }
  // It has been reaped.
  void forget();

 private:
  Result<void> start();
  void end();
  // Nothing if there was no answer.
  Result<pid_t> ask(const std::string& request);

  std::string program_;
  size_t descriptors_ = 0;
  pid_t pid_ = 0;
  Fd socket_;
};

}  // namespace proffer::agent
