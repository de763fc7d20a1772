#pragma once

// The calls of after() that are still to come, on a loop.

#include <functional>
#include <list>
#include <memory>

#include "common/time.h"
#include "net/loop.h"

namespace proffer::sdk {

class LoopTimers {
 public:
  explicit LoopTimers(Loop& loop) : loop_(loop) {}
  LoopTimers(const LoopTimers&) = delete;
  LoopTimers& operator=(const LoopTimers&) = delete;

  void after(Duration duration, std::function<void()> what);

 private:
  Loop& loop_;
  std::list<std::unique_ptr<Timer>> timers_;
};

}  // namespace proffer::sdk
