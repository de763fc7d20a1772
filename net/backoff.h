#pragma once

// How long to wait before the next attempt: growing, with jitter, from a seed. Pure.

#include <cstdint>

#include "common/prng.h"
#include "common/time.h"

namespace proffer {

struct BackoffLimits {
  Duration min = milliseconds(20);  // the first retry is quick: most restarts are
  Duration max = seconds(2);
  // How many percent longer each wait is than the one before. A wait is about so much of the time
  // that has passed since the first attempt: 100 doubles it.
  int64_t growth_percent = 100;
  bool operator==(const BackoffLimits&) const = default;
};

// Within one machine an attempt costs microseconds, so there are more: a peer that comes back is
// found within about a quarter of the time it was away, at most a second. Ten thousand executors of
// an agent that stays away make 13,000 attempts a second.
inline constexpr BackoffLimits kLocalBackoff{.max = seconds(1), .growth_percent = 25};

// Between rounds over the masters of a cluster: the new leader is found within a second.
inline constexpr BackoffLimits kFailoverBackoff{.max = seconds(1), .growth_percent = 50};

// The k-th wait is uniform in [w/2, w] with w = min(max, min * (1 + growth)^k): never zero, so that
// nobody spins, and spread, so that a thousand agents do not come back in the same millisecond.
class Backoff {
 public:
  Backoff(BackoffLimits limits, uint64_t seed) : limits_(limits), prng_(seed) {}

  Duration next();
  // The next wait is a short one again.
  void reset() { wait_ = Duration(); }

 private:
  BackoffLimits limits_;
  Prng prng_;
  Duration wait_ = {};  // the last one, without jitter
};

}  // namespace proffer
