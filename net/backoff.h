#pragma once

// How long to wait before the next attempt: doubling, with jitter, from a seed. Pure.

#include <cstdint>

#include "common/prng.h"
#include "common/time.h"

namespace proffer {

struct BackoffLimits {
  Duration min = milliseconds(20);  // the first retry is quick: most restarts are
  Duration max = seconds(2);
  bool operator==(const BackoffLimits&) const = default;
};

// The k-th wait is uniform in [w/2, w] with w = min(max, min * 2^k): never zero, so that nobody
// spins, and spread, so that a thousand agents do not come back in the same millisecond.
class Backoff {
 public:
  Backoff(BackoffLimits limits, uint64_t seed) : limits_(limits), prng_(seed) {}

  Duration next();
  // The next wait is a short one again.
  void reset() { attempts_ = 0; }
  int attempts() const { return attempts_; }

 private:
  BackoffLimits limits_;
  Prng prng_;
  int attempts_ = 0;
};

}  // namespace proffer
