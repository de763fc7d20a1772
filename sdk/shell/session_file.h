#pragma once

// Where a framework keeps its id and secret between the lives of its scheduler.

#include <string>

#include "common/ids.h"
#include "common/result.h"
#include "net/files.h"

namespace proffer::sdk {

// Mode 0600; replaced atomically, so it is whole after any crash; locked, so that no two schedulers
// share one identity. Empty at first.
class SessionFile {
 public:
  // Errors: kFailedPrecondition (another process has it), kUnavailable (the system says no),
  // kCorruption (it is something else); each with the path and a hint.
  static Result<SessionFile> open(std::string path);

  const FrameworkId& framework() const { return framework_; }  // empty: none yet
  const Secret& secret() const { return secret_; }             // empty: none yet

  // Durable when it returns. Errors: kUnavailable.
  Result<void> save(const FrameworkId& framework, const Secret& secret);
  // The framework was torn down: nothing is left to come back to.
  void remove();

 private:
  SessionFile(std::string path, Fd locked) : path_(std::move(path)), locked_(std::move(locked)) {}

  std::string path_;
  Fd locked_;  // of the file at path_
  FrameworkId framework_ = {};
  Secret secret_ = {};
};

}  // namespace proffer::sdk
