#include "slave/shell/processes.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/text.h"

namespace proffer::agent {
namespace {

// Files of /proc have no size: read to the end, at most `bytes_max`.
std::string read_whole(const std::string& path, size_t bytes_max) {
  std::string bytes;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return bytes;
  char buffer[4096];
  while (bytes.size() < bytes_max) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n <= 0) break;
    bytes.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  return bytes;
}

}  // namespace

std::optional<Process> find_process(pid_t pid) {
  const std::string stat = read_whole(text("/proc/", pid, "/stat"), 4096);
  // The second field is the name in parentheses, which may itself contain parentheses.
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  Process process{.pid = pid};
  char state = 0;
  int parent = 0;
  int group = 0;
  int session = 0;
  unsigned long long start = 0;
  const int fields = std::sscanf(stat.c_str() + name_end + 1,
                                 " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                                 "%*d %*d %llu",
                                 &state, &parent, &group, &session, &start);
  if (fields != 5) return std::nullopt;
  process.parent = parent;
  process.session = session;
  process.start_ticks = start;
  process.zombie = state == 'Z' || state == 'X';
  return process;
}

std::vector<Process> all_processes() {
  std::vector<Process> found;
  DIR* directory = opendir("/proc");
  if (directory == nullptr) return found;
  while (const dirent* entry = readdir(directory)) {
    char* end = nullptr;
    const long pid = std::strtol(entry->d_name, &end, 10);
    if (*end != '\0' || pid <= 0) continue;
    if (const std::optional<Process> process = find_process(static_cast<pid_t>(pid))) {
      found.push_back(*process);
    }
  }
  closedir(directory);
  return found;
}

std::vector<pid_t> own_children() {
  // The kernel lists children by thread. Only the main thread starts processes, and orphans are
  // given to it as well.
  std::vector<pid_t> children;
  const std::string list =
      read_whole(text("/proc/self/task/", getpid(), "/children"), size_t{1} << 20);
  const char* at = list.c_str();
  while (true) {
    char* end = nullptr;
    const long pid = std::strtol(at, &end, 10);
    if (end == at) break;
    children.push_back(static_cast<pid_t>(pid));
    at = end;
  }
  return children;
}

std::string started_with(pid_t pid, std::string_view variable) {
  const std::string environment = read_whole(text("/proc/", pid, "/environ"), size_t{1} << 20);
  std::string_view rest = environment;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find('\0'));
    if (entry.size() > variable.size() && entry.starts_with(variable) &&
        entry[variable.size()] == '=') {
      return std::string(entry.substr(variable.size() + 1));
    }
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
  }
  return {};
}

int watch_process(pid_t pid) {
#ifdef SYS_pidfd_open
  return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));  // it sets close-on-exec itself
#else
  (void)pid;
  return -1;
#endif
}

std::string boot_id() {
  return std::string(trimmed(read_whole("/proc/sys/kernel/random/boot_id", 256)));
}

}  // namespace proffer::agent
