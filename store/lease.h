#pragma once

// How long a leader may serve, by what its ensemble has answered. Pure: the shell's leadership
// (zookeeper_leadership.h) and the simulator's ask the same.

#include <optional>

#include "common/time.h"

namespace proffer {

struct Lease {
  Duration session_timeout = {};
  // When the latest request was *sent* that has been answered: the session was alive at some moment
  // after it, so it cannot have expired before this plus the timeout. None: nothing was answered.
  std::optional<Time> answered = {};

  // Nine tenths of the timeout after that: before another can lead, with a margin for clocks that
  // do not run alike.
  std::optional<Time> ends() const;
  bool holds(Time now) const;
  // A leader that has nothing to ask asks so often for a sign of life.
  Duration probe_every() const;
};

}  // namespace proffer
