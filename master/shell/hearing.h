#pragma once

// Whether this process knows what has arrived. A master that stood still (SIGSTOP, a suspended
// machine, a step that took long), or that reads more slowly than frames come, is deaf: the silence
// of its peers is its own (ADR 0167). Pure.

#include <optional>

#include "common/time.h"

namespace proffer::master {

// A timer that is late by this time, or frames that are unread for it.
inline constexpr Duration kStoodStill = seconds(1);
// Longer than this, silence is judged all the same, so that no flood hides a dead agent.
inline constexpr Duration kDeafMax = minutes(1);

class Hearing {
 public:
  // The timer was set to this time.
  void expect(std::optional<Time> due) { due_ = due; }
  // The timer rings. `read_until`: everything that had arrived then was read.
  bool is_deaf(Time now, Time read_until) {
    const bool stood_still = due_ && now - *due_ > kStoodStill;
    if (!stood_still && now - read_until <= kStoodStill) {
      since_.reset();
      return false;
    }
    if (!since_) since_ = now;
    return now - *since_ < kDeafMax;
  }

 private:
  std::optional<Time> due_ = {};
  std::optional<Time> since_ = {};
};

}  // namespace proffer::master
