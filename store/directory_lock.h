#pragma once

// One process per directory, and per socket: masters take it on their data directory and on their
// socket, agents on their work directory, before they bind or write anything.

#include <string>

#include "common/result.h"

namespace proffer {

// Held while the object lives, and given up by the system when the process ends, however it ends.
class DirectoryLock {
 public:
  // Makes `directory` if it is missing (mode 0700) and locks the file `lock` in it, which then
  // holds this process's id. Errors: kFailedPrecondition: another process holds it, and which, with
  // a hint; kUnavailable: the directory cannot be made or written. Waits up to 5 s only for
  // children of a holder that has ended: one that was killed while it started a program.
  static Result<DirectoryLock> take(const std::string& directory);
  // For a path that is free or a socket's. Locks the file `<socket>.lock`, and makes its folder if
  // that is missing (mode 0755: others must reach the socket, and nobody else replace it). Binding
  // a socket takes it from another process that has it, so the lock comes first. Errors: as take(),
  // and kFailedPrecondition: something else is at the path.
  static Result<DirectoryLock> take_socket(const std::string& socket);

  ~DirectoryLock();
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&&) = delete;

 private:
  explicit DirectoryLock(int fd) : fd_(fd) {}
  static Result<DirectoryLock> lock(const std::string& path, const std::string& what,
                                    const std::string& hint);
  int fd_ = -1;
};

}  // namespace proffer
