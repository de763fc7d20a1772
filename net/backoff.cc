#include "net/backoff.h"

#include <algorithm>

namespace proffer {

Duration Backoff::next() {
  const Duration grown = wait_ + wait_ * limits_.growth_percent / 100;
  wait_ = std::min(std::max(grown, limits_.min), limits_.max);
  const int64_t half = wait_.nanos() / 2;
  return Duration::nanos(prng_.between(wait_.nanos() - half, wait_.nanos()));
}

}  // namespace proffer
