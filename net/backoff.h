#pragma once

// The wait before the next attempt: it grows, with jitter from a seed. Pure.

#include <cstdint>

#include "common/prng.h"
#include "common/time.h"

namespace proffer {

struct BackoffLimits {
  Duration min = milliseconds(20);  // the first retry is quick, since most outages are restarts
  Duration max = seconds(2);
  // The growth of each wait over the last one. A wait is about this part of the time since the
  // first attempt; 100 doubles it.
  int64_t growth_percent = 100;
  bool operator==(const BackoffLimits&) const = default;
};

// Within one machine an attempt costs microseconds, so there are more attempts: a peer that comes
// back is found within about a quarter of its downtime, at most a second. Ten thousand executors of
// an agent that stays away make 13,000 attempts a second.
inline constexpr BackoffLimits kLocalBackoff{.max = seconds(1), .growth_percent = 25};

// Between rounds over the masters of a cluster: a new leader is found within a second.
inline constexpr BackoffLimits kFailoverBackoff{.max = seconds(1), .growth_percent = 50};

// The k-th wait is uniform in [w/2, w] with w = min(max, min * (1 + growth)^k). It is never zero,
// so there is no busy loop, and it is spread, so a thousand agents do not return in the same
// millisecond.
class Backoff {
 public:
  Backoff(BackoffLimits limits, uint64_t seed) : limits_(limits), prng_(seed) {}

  Duration next();
  // The next wait is short again.
  void reset() { wait_ = Duration(); }

 private:
  BackoffLimits limits_;
  Prng prng_;
  Duration wait_ = {};  // the last one, without jitter
};

}  // namespace proffer
