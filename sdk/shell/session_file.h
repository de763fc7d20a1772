#pragma once

// The file that keeps a framework's id and secret between the lives of its scheduler.

#include <optional>
#include <string>

#include "common/ids.h"
#include "common/result.h"
#include "net/files.h"

namespace proffer::sdk {

// The file has mode 0600. It is made and replaced atomically, so it is whole after any crash. It
// has a checksum, so that a flipped bit is found. It is locked, so that no two schedulers share one
// identity.
class SessionFile {
 public:
  // Makes the file with a new secret if there is none. Errors: kFailedPrecondition (another process
  // holds it), kUnavailable (the system refused), kCorruption (it is empty, damaged, or not a
  // session file); each with the path and a hint.
  static Result<SessionFile> open(std::string path);

  const FrameworkId& framework() const { return framework_; }  // empty: none yet
  const Secret& secret() const { return secret_; }
  bool is_new() const { return is_new_; }  // this open() made the file

  // The file is durable when save() returns. Errors: kUnavailable.
  Result<void> save(const FrameworkId& framework, const Secret& secret);
  // Deletes the file: the framework was torn down.
  void remove();

 private:
  static Result<std::optional<SessionFile>> make(const std::string& path);
  SessionFile(std::string path, Fd locked) : path_(std::move(path)), locked_(std::move(locked)) {}

  std::string path_;
  Fd locked_;  // the file at path_, locked
  FrameworkId framework_ = {};
  Secret secret_ = {};
  bool is_new_ = false;
};

}  // namespace proffer::sdk
