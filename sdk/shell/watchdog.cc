// Checks three numbers every quarter of the patience, so a callback costs no lock and no wake-up.

#include "sdk/shell/watchdog.h"

#include <chrono>
#include <csignal>
#include <utility>

namespace proffer::sdk {
namespace {

int64_t steady_nanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Watchdog::Watchdog(Duration patience, std::function<void(std::string_view, Duration)> warn)
    : patience_(patience), warn_(std::move(warn)) {
  // Signals are for the other threads of the author's program.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { watch(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

void Watchdog::callback_begins(const char* callback) {
  callback_ = callback;
  began_nanos_ = steady_nanos();
  ++calls_;
}

void Watchdog::callback_ends() { ++calls_; }

void Watchdog::watch() {
  uint64_t told_of = 0;  // the last call that was reported
  Duration next = patience_;
  std::unique_lock lock(mutex_);
  const auto pause = std::chrono::nanoseconds(patience_.nanos() / 4);
  while (!ended_.wait_for(lock, pause, [this] { return is_ending_; })) {
    const uint64_t call = calls_;
    if (call % 2 == 0) continue;
    const std::string_view callback = callback_.load();
    const Duration ran = nanoseconds(steady_nanos() - began_nanos_);
    if (calls_ != call) continue;
    if (call != told_of) next = patience_;
    if (ran < next) continue;
    told_of = call;
    while (next <= ran) next = next * 2;
    lock.unlock();
    warn_(callback, ran);
    lock.lock();
  }
}

}  // namespace proffer::sdk
