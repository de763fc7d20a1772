#pragma once

// The pending calls of after() on an event loop.

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
