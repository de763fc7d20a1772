#include "net/private_tmp.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "net/fd.h"

namespace proffer {
namespace {

constexpr const char* kReplaced[] = {"/tmp", "/var/tmp"};

// Makes the directories of `path`, a relative one, below `directory`. Returns 0 or an errno.
int make_directories(int directory, std::string_view path) {
  Fd at(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (at.get() >= 0 && !path.empty()) {
    const std::string name(path.substr(0, path.find('/')));
    path.remove_prefix(std::min(path.size(), name.size() + 1));
    if (mkdirat(at.get(), name.c_str(), 0711) != 0 && errno != EEXIST) return errno;
    at = Fd(openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  return at.get() >= 0 ? 0 : errno;
}

int bind(int directory, const char* at) {
  const std::string source = text("/proc/self/fd/", directory);
  return mount(source.c_str(), at, nullptr, MS_BIND | MS_REC, nullptr) == 0 ? 0 : errno;
}

}  // namespace

int make_private_tmp(int sandbox) {
  if (mkdirat(sandbox, kPrivateTmpName, 0700) != 0 && errno != EEXIST) return errno;
  const Fd directory(
      openat(sandbox, kPrivateTmpName, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return directory.get() >= 0 && fchmod(directory.get(), 01777) == 0 ? 0 : errno;
}

int mount_private_tmp(const char* sandbox, const char* kept) {
  // A descriptor from before the namespace was made refers to mounts of another namespace.
  const Fd directory(open(text(sandbox, "/", kPrivateTmpName).c_str(),
                          O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const Fd stays(open(kept, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || stays.get() < 0) return errno;
  for (const char* replaced : kReplaced) {
    const std::string below = text(replaced, "/");
    const bool is_below = std::string_view(kept).starts_with(below);
    if (is_below) {
      const int failed =
          make_directories(directory.get(), std::string_view(kept).substr(below.size()));
      if (failed != 0) return failed;
    }
    if (const int failed = bind(directory.get(), replaced); failed != 0) return failed;
    if (!is_below) continue;
    if (const int failed = bind(stays.get(), kept); failed != 0) return failed;
  }
  return 0;
}

}  // namespace proffer
