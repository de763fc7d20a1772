#include "frameworks/batch/shell/signals.h"

#include <cerrno>
#include <csignal>
#include <cstdint>

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace proffer::batch {
namespace {

volatile std::sig_atomic_t caught_signal = 0;
// Readable from a signal on: a wait that begins after the signal ends at once.
int wake_fd = -1;

void on_signal(int signal) {
  const int error = errno;
  caught_signal = signal;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t wrote = ::write(wake_fd, &one, sizeof one);
  errno = error;
}

}  // namespace

void catch_signals() {
  if (wake_fd < 0) wake_fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  struct sigaction action = {};
  action.sa_handler = on_signal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

int take_signal() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(wake_fd, &count, sizeof count);
  const int signal = caught_signal;
  caught_signal = 0;
  return signal;
}

bool wait_for_input(int fd) {
  for (;;) {
    if (take_signal() != 0) return false;
    pollfd sources[] = {{.fd = wake_fd, .events = POLLIN, .revents = 0},
                        {.fd = fd, .events = POLLIN, .revents = 0}};
    if (::poll(sources, 2, -1) > 0 && sources[0].revents == 0) return true;
  }
}

}  // namespace proffer::batch
