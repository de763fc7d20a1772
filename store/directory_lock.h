#pragma once

// Ensures one process per directory and per socket. Masters lock their data directory and their
// socket, agents their work directory, before they bind or write anything.

#include <string>

#include "common/result.h"

namespace proffer {

// Held while the object lives. The system releases it when the process ends, in any way.
class DirectoryLock {
 public:
  // Makes `directory` if it is missing (mode 0700) and locks the file `lock` in it, which then
  // contains the id of this process. Errors: kFailedPrecondition: another process, which is named
  // with a hint, has the lock; kUnavailable: the directory cannot be made or written. Waits up to 5
  // s only for children of a killed holder that have not started their program yet.
  static Result<DirectoryLock> take(const std::string& directory);
  // For a path that is free or is a socket. Locks the file `<socket>.lock`, and makes its folder if
  // it is missing (mode 0755: other users must reach the socket, but not replace it). Binding a
  // socket takes it from another process, so the lock comes first. Errors: as take(), and
  // kFailedPrecondition: the path is another kind of file.
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
