#include "sdk/shell/posted_calls.h"

#include <utility>

namespace proffer::sdk {

bool PostedCalls::add(std::function<void()> what) {
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_ || waiting_.size() >= kWaitingMax) return false;
    waiting_.push_back(std::move(what));
    if (std::exchange(is_awake_, true)) return true;
  }
  wake_();
  return true;
}

void PostedCalls::take_turn(const std::function<void(const std::function<void()>&)>& run) {
  size_t left = 0;
  {
    const std::lock_guard lock(mutex_);
    left = waiting_.size();
  }
  while (left > 0) {
    std::function<void()> next;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty()) break;  // the previous call closed it
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    --left;
    run(next);
  }
  {
    const std::lock_guard lock(mutex_);
    is_awake_ = !waiting_.empty();
    if (!is_awake_) return;
  }
  wake_();
}

void PostedCalls::close() {
  std::deque<std::function<void()>> dropped;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  dropped.swap(waiting_);
}

}  // namespace proffer::sdk
