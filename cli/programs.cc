#include "cli/programs.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/text.h"
#include "net/child.h"
#include "net/fd.h"

namespace proffer::cli {

Result<std::string> find_program(std::string_view name) {
  return find_program_file(text("proffer-", name));
}

Error become(std::string_view name, const std::vector<std::string>& words) {
  Result<std::string> path = find_program(name);
  if (!path) return std::move(path).error();
  std::vector<char*> argv;
  argv.push_back(path->data());
  std::vector<std::string> copies = words;
  for (std::string& word : copies) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(path->c_str(), argv.data());
  return Error::internal(text("cannot start ", quoted(*path), ": ", std::strerror(errno)));
}

namespace {

constexpr int kGivenFd = 3;  // the descriptor of kGivenFile

// A file in memory with this content, positioned at its beginning.
Result<Fd> file_in_memory(std::string_view content) {
  Fd file(::memfd_create("given", MFD_CLOEXEC));
  while (file.get() >= 0 && !content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) file = Fd();
    if (written > 0) content.remove_prefix(static_cast<size_t>(written));
  }
  if (file.get() < 0 || ::lseek(file.get(), 0, SEEK_SET) != 0) {
    return Error::internal(text("cannot make a file in memory: ", std::strerror(errno)));
  }
  return file;
}

// Runs in the new process, so it uses only calls that are safe between fork and exec.
[[noreturn]] void execute(char* const* argv, int output, int file, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != parent) ::_exit(127);
  // Copy both first: each may have the number that the other one needs.
  const int out = ::fcntl(output, F_DUPFD_CLOEXEC, kGivenFd + 1);
  const int given = ::fcntl(file, F_DUPFD_CLOEXEC, kGivenFd + 1);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(given, kGivenFd);
  ::execv(argv[0], argv);
  ::_exit(127);
}

// Reads until the other end is closed; false at the deadline.
bool read_until(int fd, std::chrono::steady_clock::time_point deadline, std::string& output) {
  char buffer[65'536];
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd waits{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waits, 1, static_cast<int>(left.count()));
    if (ready <= 0) continue;
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    output.append(buffer, static_cast<size_t>(got));
  }
}

}  // namespace

Result<std::string> output_of(std::string_view name, const std::vector<std::string>& words,
                              std::string_view file, Duration limit) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(limit.nanos());
  Result<std::string> path = find_program(name);
  if (!path) return std::move(path).error();
  const Result<Fd> given = file_in_memory(file);
  if (!given) return given.error();
  std::vector<std::string> copies = words;
  std::vector<char*> argv = {path->data()};
  for (std::string& word : copies) argv.push_back(word.data());
  argv.push_back(nullptr);
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Error::internal(text("cannot make a pipe: ", std::strerror(errno)));
  }
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) execute(argv.data(), writing.get(), given->get(), parent);
  const int failed = errno;
  writing = Fd();
  if (pid < 0) {
    return Error::internal(text("cannot start ", quoted(*path), ": ", std::strerror(failed)));
  }
  std::string output;
  const bool is_whole = read_until(reading.get(), deadline, output);
  if (!is_whole) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!is_whole) {
    return Error::timeout(text("proffer ", name, " did not finish within ", to_text(limit)));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return output;
  return Error::internal(text("proffer ", name, " did not finish"));
}

Result<std::string> temporary_directory() {
  const char* variable = std::getenv("TMPDIR");
  const std::string path = variable == nullptr || *variable == '\0' ? "/tmp" : variable;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return path;
  return Error::failed_precondition(
             text("the directory ", quoted(path), " for temporary files is missing"))
      .with_hint("create it, or name another one with $TMPDIR");
}

}  // namespace proffer::cli
