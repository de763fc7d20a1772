#include "sdk/shell/loop_timers.h"

#include <utility>

namespace proffer::sdk {

void LoopTimers::after(Duration duration, std::function<void()> what) {
  const auto place = timers_.emplace(timers_.end());
  *place = std::make_unique<Timer>(loop_, [this, place, fn = std::move(what)] {
    const std::unique_ptr<Timer> self = std::move(*place);  // lives until the end of this call
    timers_.erase(place);
    fn();
  });
  (*place)->arm(loop_.now() + duration);
}

}  // namespace proffer::sdk
