#include "cli/local_terminal.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace proffer::cli {
namespace {

// The handlers of signals can use nothing else.
termios settings_before = {};
std::atomic<bool> is_raw = false;

void restore_settings() {
  if (is_raw.exchange(false)) tcsetattr(STDIN_FILENO, TCSANOW, &settings_before);
}

// The handler is reset, so the signal has its usual effect when this returns.
void on_fatal_signal(int signal) {
  restore_settings();
  raise(signal);
}

void restore_at_each_end() {
  static const int registered = std::atexit(restore_settings);
  static_cast<void>(registered);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV,
                           SIGPIPE, SIGALRM, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ}) {
    struct sigaction now = {};
    if (sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    now.sa_handler = on_fatal_signal;
    now.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(signal, &now, nullptr);
  }
}

}  // namespace

bool is_at_terminal() { return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0; }

proto::TerminalSize local_terminal_size() {
  winsize size = {};
  if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return {.rows = size.ws_row, .columns = size.ws_col};
}

void TerminalMode::set(Mode mode) {
  const std::lock_guard lock(mutex_);
  if (mode != mode_) apply(mode);
  mode_ = mode;
}

void TerminalMode::print(const std::function<void()>& print_lines) {
  const std::lock_guard lock(mutex_);
  apply(Mode::kUsual);
  print_lines();
  std::fflush(stdout);
  apply(mode_);
}

// From one mode to the next in one step, since another thread may be writing.
void TerminalMode::apply(Mode mode) {
  if (mode == Mode::kUsual) return restore_settings();
  if (!is_raw && tcgetattr(STDIN_FILENO, &settings_before) != 0) return;
  restore_at_each_end();
  termios raw = settings_before;
  if (mode == Mode::kRaw) {
    cfmakeraw(&raw);
  } else {
    raw.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  }
  is_raw = true;
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

}  // namespace proffer::cli
