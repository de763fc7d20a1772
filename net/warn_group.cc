#include "net/warn_group.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "common/text.h"
#include "net/fd.h"
#include "net/left_processes.h"

namespace proffer {
namespace {

// The kernel shows the mask of handled signals (proc(5)). False for a process that has ended.
bool handles(pid_t pid, int signal) {
  const Fd file(open(text("/proc/", pid, "/status").c_str(), O_RDONLY | O_CLOEXEC));
  std::string status(size_t{1} << 16, '\0');  // with the groups of the user
  const ssize_t got = file.get() < 0 ? -1 : read(file.get(), status.data(), status.size());
  status.resize(got < 0 ? 0 : static_cast<size_t>(got));
  constexpr std::string_view kHandled = "\nSigCgt:\t";
  const size_t at = status.find(kHandled);
  if (at == std::string::npos) return false;
  const uint64_t mask = std::strtoull(status.c_str() + at + kHandled.size(), nullptr, 16);
  return (mask >> (signal - 1) & 1) != 0;
}

}  // namespace

void warn_group(pid_t group, int signal) {
  bool was_sent = false;
  for (const pid_t pid : members_of(group)) {
    if (handles(pid, signal)) was_sent |= kill(pid, signal) == 0;
  }
  if (!was_sent) kill(-group, signal);
}

}  // namespace proffer
