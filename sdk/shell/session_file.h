#pragma once

// Where a framework keeps its id and secret between the lives of its scheduler.

#include <optional>
#include <string>

#include "common/ids.h"
#include "common/result.h"
#include "net/files.h"

namespace proffer::sdk {

// Mode 0600; made and replaced atomically, so it is whole after any crash; with a sum of its own,
// so that a flipped bit is found; locked, so that no two schedulers share one identity.
class SessionFile {
 public:
  // Makes the file with a new secret if there is none. Errors: kFailedPrecondition (another process
  // has it), kUnavailable (the system says no), kCorruption (it is empty, damaged or something
  // else); each with the path and a hint.
  static Result<SessionFile> open(std::string path);

  const FrameworkId& framework() const { return framework_; }  // empty: none yet
  const Secret& secret() const { return secret_; }
  bool is_new() const { return is_new_; }  // this open() made it

  // Durable when it returns. Errors: kUnavailable.
  Result<void> save(const FrameworkId& framework, const Secret& secret);
  // The framework was torn down: nothing is left to come back to.
  void remove();

 private:
  static Result<std::optional<SessionFile>> make(const std::string& path);
  SessionFile(std::string path, Fd locked) : path_(std::move(path)), locked_(std::move(locked)) {}

  std::string path_;
  Fd locked_;  // of the file at path_
  FrameworkId framework_ = {};
  Secret secret_ = {};
  bool is_new_ = false;
};

}  // namespace proffer::sdk
