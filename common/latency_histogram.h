#pragma once

// Durations of a repeated action: counts by size, so that a percentile needs no list of all values.
// A value is kept to within an eighth of itself; all values up to 1 µs count as one.

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/time.h"

namespace proffer {

class LatencyHistogram {
 public:
  // A negative value counts as zero, one above kMax as kMax. O(1).
  void record(Duration duration);

  uint64_t count() const { return count_; }
  Duration sum() const { return sum_; }
  // The value that `permille` thousandths of all values do not exceed (nearest rank), rounded up to
  // the end of its bucket. Needs 0 < permille <= 1000; zero if there are no values. O(buckets).
  Duration percentile(int permille) const;

  static constexpr Duration kMax = hours(1);

 private:
  // Number of buckets for each power of two of microseconds.
  static constexpr size_t kSteps = 8;
  static constexpr size_t kPowers = 33;
  static size_t bucket_of(int64_t micros);
  // The largest value of the bucket.
  static int64_t end_of(size_t bucket);

  std::array<uint64_t, kSteps* kPowers> buckets_ = {};
  uint64_t count_ = 0;
  Duration sum_;
};

}  // namespace proffer
