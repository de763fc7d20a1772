#include "frameworks/batch/shell/signals.h"

#include <csignal>

#include <signal.h>

namespace proffer::batch {
namespace {

volatile std::sig_atomic_t caught_signal = 0;

}  // namespace

void catch_signals() {
  struct sigaction action = {};
  action.sa_handler = [](int signal) { caught_signal = signal; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

int take_signal() {
  const int signal = caught_signal;
  caught_signal = 0;
  return signal;
}

}  // namespace proffer::batch
