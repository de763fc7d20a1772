#include "slave/executor/last_words.h"

#include <algorithm>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/fd.h"

namespace proffer::executor {

std::string last_words(size_t bytes_max) {
  // The descriptor itself is write-only.
  const Fd file(open("/proc/self/fd/2", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat is = {};
  if (file.get() < 0 || fstat(file.get(), &is) != 0 || !S_ISREG(is.st_mode)) return "";
  const auto bytes = std::min<off_t>(is.st_size, static_cast<off_t>(bytes_max));
  std::string words(static_cast<size_t>(bytes), '\0');
  const ssize_t got = pread(file.get(), words.data(), words.size(), is.st_size - bytes);
  words.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return words;
}

}  // namespace proffer::executor
