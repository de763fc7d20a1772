#pragma once

// A histogram of durations in the buckets of a Prometheus histogram. The bounds are fixed, from 100
// µs to 10 s, so that histograms of several processes and times can be added up.

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/time.h"

namespace proffer {

class TimeHistogram {
 public:
  static constexpr std::array<Duration, 12> kBounds = {
      microseconds(100), microseconds(500),   milliseconds(1),   milliseconds(5),
      milliseconds(10),  milliseconds(50),    milliseconds(100), milliseconds(500),
      seconds(1),        milliseconds(2'500), seconds(5),        seconds(10)};

  // Negative durations count as zero. O(bounds).
  void record(Duration duration) {
    if (duration < Duration()) duration = Duration();
    size_t bucket = 0;
    while (bucket < kBounds.size() && kBounds[bucket] < duration) ++bucket;
    ++counts_[bucket];
    ++count_;
    sum_ = sum_ + duration;
  }

  uint64_t count() const { return count_; }
  Duration sum() const { return sum_; }
  // Bucket i only: above the bound before it, up to its own; the last has no bound.
  const std::array<uint64_t, kBounds.size() + 1>& counts() const { return counts_; }

 private:
  std::array<uint64_t, kBounds.size() + 1> counts_ = {};
  uint64_t count_ = 0;
  Duration sum_;
};

}  // namespace proffer
