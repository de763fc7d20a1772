#pragma once

// Functions that other threads pass to the thread of a loop: the queue of Scheduler::post().

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

namespace proffer::sdk {

class PostedCalls {
 public:
  static constexpr size_t kWaitingMax = 65'536;

  // `wake` makes the loop's thread call take_turn() soon. It is called on any thread, once for all
  // waiting functions.
  explicit PostedCalls(std::function<void()> wake) : wake_(std::move(wake)) {}
  PostedCalls(const PostedCalls&) = delete;
  PostedCalls& operator=(const PostedCalls&) = delete;

  // False: kWaitingMax functions wait, or close() was called. Any thread.
  bool add(std::function<void()> what);
  // Calls `run` with the functions that wait now, in the order in which they came. Functions added
  // meanwhile wait for the next turn, so that other events are handled in between.
  void take_turn(const std::function<void(const std::function<void()>&)>& run);
  // No more functions are accepted; those that wait are dropped.
  void close();

 private:
  const std::function<void()> wake_;
  std::mutex mutex_;
  std::deque<std::function<void()>> waiting_;  // guarded by mutex_, like the next two
  bool is_awake_ = false;                      // take_turn() is due
  bool is_closed_ = false;
};

}  // namespace proffer::sdk
