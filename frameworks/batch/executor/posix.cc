// System calls with their errors as values.

#include "frameworks/batch/executor/posix.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"

namespace proffer::batch {

Error system_error(std::string_view what, int error_number) {
  const char* words = ::strerrordesc_np(error_number);
  return Error::unavailable(
      text(what, ": ", words != nullptr ? words : "unknown error", " (errno ", error_number, ")"));
}

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<Fd> open_to_read(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return system_error(text("opening ", quoted(path)), errno);
  return Fd(fd);
}

Result<Fd> open_to_write(const std::string& path, mode_t mode) {
  const int fd =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, mode);
  if (fd < 0) return system_error(text("creating ", quoted(path)), errno);
  return Fd(fd);
}

Result<bool> is_there(const std::string& path) {
  struct stat seen = {};
  if (::stat(path.c_str(), &seen) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return system_error(text("looking for ", quoted(path)), errno);
}

void remove_tree(const std::string& path) {
  constexpr int kRounds = 3;
  std::error_code error;
  for (int round = 0; round < kRounds; ++round) {
    std::filesystem::remove_all(path, error);
    if (!error) return;
  }
}

Result<Pipe> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return system_error("making a pipe", errno);
  return Pipe{Fd(fds[0]), Fd(fds[1])};
}

WriteOutcome write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EPIPE) {
      return {.closed = true};
    } else if (errno != EINTR) {
      return {.error = system_error("writing", errno)};
    }
  }
  return {};
}

Result<size_t> read_some(int fd, char* buffer, size_t size) {
  for (;;) {
    const ssize_t got = ::read(fd, buffer, size);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) return system_error("reading", errno);
  }
}

WriteOutcome BufferedWriter::write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > kBytes) {
    if (WriteOutcome flushed = flush(); !flushed.ok()) return flushed;
    if (bytes.size() >= kBytes) return write_all(fd_, bytes);
  }
  buffer_ += bytes;
  return {};
}

WriteOutcome BufferedWriter::flush() {
  WriteOutcome outcome = write_all(fd_, buffer_);
  buffer_.clear();
  return outcome;
}

Result<std::optional<std::string_view>> LineReader::next() {
  size_t searched = begin_;
  for (;;) {
    const size_t newline = std::string_view(buffer_.data(), end_).find('\n', searched);
    if (newline != std::string_view::npos) {
      const std::string_view line(buffer_.data() + begin_, newline - begin_);
      begin_ = newline + 1;
      return std::optional(line);
    }
    if (at_end_) {
      if (begin_ == end_) return std::optional<std::string_view>();
      const std::string_view line(buffer_.data() + begin_, end_ - begin_);
      begin_ = end_;
      return std::optional(line);
    }
    if (begin_ > 0) {
      buffer_.erase(0, begin_);
      buffer_.resize(buffer_.size() + begin_);
      end_ -= begin_;
      begin_ = 0;
    } else if (end_ == buffer_.size()) {
      if (buffer_.size() >= kLineBytesMax) {
        return Error::resource_exhausted(
            text("a line of output is longer than ", kLineBytesMax >> 20, " MiB"));
      }
      buffer_.resize(buffer_.size() * 2);
    }
    searched = end_;
    Result<size_t> got = read_some(fd_, buffer_.data() + end_, buffer_.size() - end_);
    if (!got) return std::move(got).error();
    if (*got == 0) at_end_ = true;
    end_ += *got;
  }
}

std::string to_text(const ExitStatus& status) {
  if (status.signal == 0) return text("exited with ", status.code);
  const char* name = ::sigdescr_np(status.signal);
  return text("was ended by signal ", status.signal, " (", name != nullptr ? name : "unknown", ")");
}

Child::~Child() {
  kill(SIGKILL);
  wait();
}

Child& Child::operator=(Child&& other) noexcept {
  kill(SIGKILL);
  wait();
  pid_ = std::exchange(other.pid_, -1);
  return *this;
}

Result<Child> Child::start(const std::vector<std::string>& argv,
                           const std::vector<std::string>& environment, int in, int out, int err) {
  std::vector<char*> arguments;
  for (const std::string& one : argv) arguments.push_back(const_cast<char*>(one.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> variables;
  for (const std::string& one : environment) variables.push_back(const_cast<char*>(one.c_str()));
  variables.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  // All our descriptors are above 2 and closed by exec; dup2 makes copies that are not.
  CHECK(in > 2 && out > 2 && err > 2) << "standard descriptors must be open in an executor";
  ::posix_spawn_file_actions_adddup2(&actions, in, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out, 1);
  ::posix_spawn_file_actions_adddup2(&actions, err, 2);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t all;
  ::sigfillset(&all);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);

  Child child;
  const int failed = ::posix_spawnp(&child.pid_, arguments[0], &actions, &attributes,
                                    arguments.data(), variables.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    child.pid_ = -1;
    return system_error(text("starting ", quoted(argv[0])), failed);
  }
  return child;
}

void Child::kill(int signal) const {
  if (pid_ > 0) ::kill(pid_, signal);
}

ExitStatus Child::wait() {
  if (pid_ < 0) return {};
  int status = 0;
  pid_t waited = -1;
  do {
    waited = ::waitpid(pid_, &status, 0);
  } while (waited < 0 && errno == EINTR);
  CHECK_EQ(waited, pid_) << "another part of the process reaped our child";
  pid_ = -1;
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status)};
}

void signal_group(int signal) {
  struct Close {
    void operator()(DIR* directory) const { ::closedir(directory); }
  };
  const std::unique_ptr<DIR, Close> processes(::opendir("/proc"));
  if (processes == nullptr) return;
  const pid_t self = ::getpid();
  const pid_t group = ::getpgrp();
  if (group != self) return;
  while (const dirent* entry = ::readdir(processes.get())) {
    pid_t pid = 0;
    for (const char* c = entry->d_name; *c != '\0'; ++c) {
      if (*c < '0' || *c > '9' || pid > 100'000'000) {
        pid = 0;
        break;
      }
      pid = pid * 10 + (*c - '0');
    }
    if (pid <= 0 || pid == self || ::getpgid(pid) != group) continue;
    ::kill(pid, signal);
  }
}

StderrTail::StderrTail(Fd read, size_t bytes_max, bool reports,
                       std::function<void(const std::string&)> on_status)
    : read_(std::move(read)), bytes_max_(bytes_max) {
  thread_ = std::thread([this, reports, on_status = std::move(on_status)] {
    std::vector<char> buffer(16 * 1024);
    std::string told;
    for (;;) {
      const Result<size_t> got = read_some(read_.get(), buffer.data(), buffer.size());
      if (!got || *got == 0) break;
      const std::string_view bytes(buffer.data(), *got);
      if (!reports) {
        pass_on(bytes);
        continue;
      }
      pass_on(lines_.feed(bytes));
      if (lines_.status() == told || !on_status) continue;
      told = lines_.status();
      on_status(told);
    }
    pass_on(lines_.finish());
  });
}

void StderrTail::pass_on(std::string_view bytes) {
  // A write error of the sandbox's file must not stop the command.
  (void)write_all(STDERR_FILENO, bytes);
  tail_ += bytes;
  if (tail_.size() > bytes_max_) tail_.erase(0, tail_.size() - bytes_max_);
}

std::string StderrTail::join() {
  if (thread_.joinable()) thread_.join();
  return tail_;
}

}  // namespace proffer::batch
