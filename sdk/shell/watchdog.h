#pragma once

// Tells of a callback that takes long while it does: from a thread of its own, since the one that
// the callback blocks cannot.

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
  // `warn` is called on the thread of the watchdog: when a callback has run for `patience`, and
  // again each time that it has run twice as long.
  Watchdog(Duration patience, std::function<void(std::string_view callback, Duration ran)> warn);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // From one thread, never one within the other. `callback` is a literal.
  void callback_begins(const char* callback);
  void callback_ends();

 private:
  void watch();

  const Duration patience_;
  const std::function<void(std::string_view, Duration)> warn_;
  // Odd while a callback runs; what it says of the other two is true if it has not changed since.
  std::atomic<uint64_t> calls_ = 0;
  std::atomic<const char*> callback_ = "";
  std::atomic<int64_t> began_nanos_ = 0;

  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_ending_ = false;  // guarded by mutex_
  std::thread thread_;      // last: it uses the others
};

}  // namespace proffer::sdk
