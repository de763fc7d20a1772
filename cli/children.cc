#include "cli/children.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/text.h"
#include "net/child.h"

namespace proffer::cli {
namespace {

// Reads the parent of a process from /proc; 0 if the process is gone.
pid_t parent_of(pid_t pid) {
  std::ifstream file(text("/proc/", pid, "/stat"));
  std::stringstream content;
  content << file.rdbuf();
  const std::string stat = content.str();
  const size_t name_end = stat.rfind(')');  // The name may contain any characters.
  if (name_end == std::string::npos || name_end + 4 >= stat.size()) return 0;
  return static_cast<pid_t>(std::strtol(stat.c_str() + name_end + 4, nullptr, 10));
}

// All descendants of this process.
std::vector<pid_t> descendants() {
  std::map<pid_t, pid_t> parents;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = static_cast<pid_t>(std::strtol(name.c_str(), nullptr, 10));
    if (const pid_t parent = parent_of(pid); parent != 0) parents[pid] = parent;
  }
  std::vector<pid_t> found;
  std::set<pid_t> known = {getpid()};
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& [pid, parent] : parents) {
      if (known.count(pid) != 0 || known.count(parent) == 0) continue;
      known.insert(pid);
      found.push_back(pid);
      grew = true;
    }
  }
  return found;
}

}  // namespace

Children::Children(Loop& loop, Ended ended) : ended_(std::move(ended)) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  loop.on_signal(SIGCHLD, [this] { reap(); });
}

Result<void> Children::start(const std::string& name, std::vector<std::string> command,
                             const std::string& log_path) {
  const int log = ::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log < 0) {
    return Error::internal(text("cannot write ", quoted(log_path), ": ", std::strerror(errno)));
  }
  const Result<pid_t> pid = start_child(std::move(command), log);
  ::close(log);
  if (!pid) return pid.error();
  children_[name] = *pid;
  return {};
}

void Children::signal(const std::string& name, int signal) const {
  const auto at = children_.find(name);
  if (at != children_.end()) ::kill(at->second, signal);
}

bool Children::is_running(const std::string& name) const { return children_.count(name) != 0; }

pid_t Children::pid(const std::string& name) const {
  const auto at = children_.find(name);
  return at == children_.end() ? 0 : at->second;
}

// Also reaps orphans: this process is their subreaper.
void Children::reap() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
    const auto at = std::find_if(children_.begin(), children_.end(),
                                 [&](const auto& child) { return child.second == pid; });
    if (at == children_.end()) continue;
    const std::string name = at->first;
    children_.erase(at);
    ended_(name, how_it_ended(status));
  }
}

void Children::end_all_descendants() {
  while (true) {
    const std::vector<pid_t> left = descendants();
    if (left.empty()) return;
    for (const pid_t pid : left) ::kill(pid, SIGKILL);
    int status = 0;
    while (::waitpid(-1, &status, 0) > 0) {  // All were killed, so this ends.
    }
  }
}

}  // namespace proffer::cli
