#pragma once

// Warns about a callback that takes long while it runs. It has its own thread, since the callback
// blocks the caller's.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>
#include <thread>

#include "common/time.h"

namespace proffer::sdk {

class Watchdog {
 public:
  // `warn` is called on the watchdog's thread when a callback has run for `patience`, and again
  // each time that its run time has doubled.
  Watchdog(Duration patience, std::function<void(std::string_view callback, Duration ran)> warn);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Called on one thread, never nested. `callback` is a string literal.
  void callback_begins(const char* callback);
  void callback_ends();

 private:
  void watch();

  const Duration patience_;
  const std::function<void(std::string_view, Duration)> warn_;
  // Odd while a callback runs. The other two values belong together if it is the same before and
  // after reading them.
  std::atomic<uint64_t> calls_ = 0;
  std::atomic<const char*> callback_ = "";
  std::atomic<int64_t> began_nanos_ = 0;

  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_ending_ = false;  // guarded by mutex_
  std::thread thread_;      // last member: its thread uses the others
};

}  // namespace proffer::sdk
