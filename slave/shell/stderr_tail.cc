#include "slave/shell/stderr_tail.h"

#include <algorithm>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/fd.h"

namespace proffer::agent {

std::string stderr_tail(const std::string& sandbox, size_t bytes_max) {
  const Fd folder(open(sandbox.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder.get() < 0) return "";
  // Does not wait for the other end of a FIFO.
  const Fd file(
      openat(folder.get(), "stderr", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat is = {};
  if (file.get() < 0 || fstat(file.get(), &is) != 0) return "";
  // A second name could belong to another user's file.
  if (!S_ISREG(is.st_mode) || is.st_nlink != 1) return "";
  const auto bytes = std::min<off_t>(is.st_size, static_cast<off_t>(bytes_max));
  std::string tail(static_cast<size_t>(bytes), '\0');
  const ssize_t got = pread(file.get(), tail.data(), tail.size(), is.st_size - bytes);
  tail.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return tail;
}

}  // namespace proffer::agent
