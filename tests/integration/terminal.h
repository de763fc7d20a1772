#pragma once

// A program on its own pseudo-terminal, with simulated key presses.

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "tests/integration/processes.h"

namespace proffer::test {

class Terminal {
 public:
  Terminal(Words command, const std::map<std::string, std::string>& environment) {
    std::vector<char*> argv;
    for (std::string& word : command) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = ::forkpty(&fd_, nullptr, nullptr, nullptr);
    if (pid_ != 0) return;
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    ::execv(argv.front(), argv.data());
    ::_exit(127);
  }
  ~Terminal() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    close();
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void type(const std::string& keys) {
    EXPECT_EQ(::write(fd_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  // Waits until the text appears on the screen after the text of the last wait.
  bool shows(const std::string& text) {
    const auto deadline = std::chrono::steady_clock::now() + kDeadline * slowdown();
    for (;;) {
      const size_t at = screen_.find(text, seen_);
      if (at != std::string::npos) {
        seen_ = at + text.size();
        return true;
      }
      if (std::chrono::steady_clock::now() >= deadline || !read_some()) return false;
    }
  }
  void resize(unsigned short rows, unsigned short columns) {
    const winsize size{.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(::ioctl(fd_, TIOCSWINSZ, &size), 0);
  }
  pid_t pid() const { return pid_; }
  // Whether keys are read one by one without echo.
  bool is_raw() const {
    termios now{};
    EXPECT_EQ(::tcgetattr(fd_, &now), 0);
    return (now.c_lflag & (ICANON | ECHO)) == 0;
  }
  // Closes the terminal.
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  // The exit code; 128 plus the number of the signal that killed it: SIGKILL at the deadline.
  int wait() {
    const auto deadline = std::chrono::steady_clock::now() + kDeadline * slowdown();
    while (fd_ >= 0 && std::chrono::steady_clock::now() < deadline && read_some()) {
    }
    if (std::chrono::steady_clock::now() >= deadline) ::kill(pid_, SIGKILL);
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    pid_ = -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  const std::string& screen() const { return screen_; }

 private:
  // False: no process writes to the terminal any more.
  bool read_some() {
    pollfd polled{.fd = fd_, .events = POLLIN, .revents = 0};
    if (::poll(&polled, 1, 1'000) == 0) return true;
    char buffer[4'096];
    const ssize_t got = ::read(fd_, buffer, sizeof buffer);
    if (got <= 0) return false;
    screen_.append(buffer, static_cast<size_t>(got));
    return true;
  }

  pid_t pid_ = -1;
  int fd_ = -1;
  std::string screen_;
  size_t seen_ = 0;
};

}  // namespace proffer::test
