#include "net/left_processes.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "common/text.h"

namespace proffer {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

std::optional<int> number_of(const char* name) {
  int number = 0;
  const char* end = name + std::strlen(name);
  const auto parsed = std::from_chars(name, end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return number;
}

// Calls `see(N)` for each entry with a number as its name, until it returns true.
template <class F>
bool any_number_in(const char* path, const F& see) {
  const Folder folder(::opendir(path));
  if (folder == nullptr) return false;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::optional<int> number = number_of(entry->d_name);
    if (number && see(*number, ::dirfd(folder.get()))) return true;
  }
  return false;
}

// The command of /proc/PID/stat is in brackets and may hold anything; the state follows.
bool has_ended(pid_t pid) {
  const int file = ::open(text("/proc/", pid, "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;
  char line[256];
  const ssize_t got = ::read(file, line, sizeof line);
  ::close(file);
  if (got <= 0) return true;
  const std::string_view words(line, static_cast<size_t>(got));
  const size_t bracket = words.rfind(')');
  if (bracket == std::string_view::npos || bracket + 2 >= words.size()) return true;
  const char state = words[bracket + 2];
  return state == 'Z' || state == 'X';
}

bool is_pipe(int folder, const std::string& descriptor) {
  char target[16];
  const ssize_t length = ::readlinkat(folder, descriptor.c_str(), target, sizeof target);
  return length > 0 && std::string_view(target, static_cast<size_t>(length)).starts_with("pipe:");
}

}  // namespace

bool has_members(pid_t group) { return ::kill(-group, 0) == 0 || errno == EPERM; }

std::vector<pid_t> members_of(pid_t group) {
  std::vector<pid_t> members;
  any_number_in("/proc", [&](int pid, int) {
    if (::getpgid(pid) == group && !has_ended(pid)) members.push_back(pid);
    return false;
  });
  return members;
}

CommandOutput::CommandOutput(int out, int err) : out_(regular_file(out)), err_(regular_file(err)) {}

std::optional<CommandOutput::File> CommandOutput::regular_file(int fd) {
  struct stat is = {};
  if (::fstat(fd, &is) != 0 || !S_ISREG(is.st_mode)) return std::nullopt;
  return File{is.st_dev, is.st_ino};
}

bool CommandOutput::has_writer(pid_t pid) const {
  return any_number_in(text("/proc/", pid, "/fd").c_str(), [&](int fd, int folder) {
    const std::string name = std::to_string(fd);
    if (fd == STDIN_FILENO && is_pipe(folder, name)) return true;
    // The mode of the link is that of the descriptor.
    struct stat is = {};
    if (::fstatat(folder, name.c_str(), &is, AT_SYMLINK_NOFOLLOW) != 0 ||
        (is.st_mode & S_IWUSR) == 0 || ::fstatat(folder, name.c_str(), &is, 0) != 0) {
      return false;
    }
    const std::optional<File> file = File{is.st_dev, is.st_ino};
    return file == out_ || file == err_;
  });
}

}  // namespace proffer
