#pragma once

// How long a leader may serve after the last answer of its ensemble. Pure: used by the shell's
// leadership (zookeeper_leadership.h) and by the simulator's.

#include <optional>

#include "common/time.h"

namespace proffer {

struct Lease {
  Duration session_timeout = {};
  // The time when the latest answered request was *sent*. The session was alive after it, so it
  // cannot expire before this time plus the timeout. None: no request was answered.
  std::optional<Time> answered = {};

  // Nine tenths of the timeout after that: before another master can lead, with a margin for clocks
  // of different speed.
  std::optional<Time> ends() const;
  bool holds(Time now) const;
  // The interval at which a leader without other requests sends a request to confirm its session.
  Duration probe_every() const;
};

}  // namespace proffer
