#pragma once

// How long something took, many times: counts by size, so that a percentile costs no list of all
// values. A value is kept to within an eighth of itself; 1 µs and less count as one.

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/time.h"

namespace proffer {

class LatencyHistogram {
 public:
  // Negative counts as zero, more than kMax as kMax. O(1).
  void record(Duration duration);

  uint64_t count() const { return count_; }
  Duration sum() const { return sum_; }
  // The value that `permille` thousandths of all are at or below (nearest rank), rounded up to the
  // end of its bucket. Needs 0 < permille <= 1000; zero if there are no values. O(buckets).
  Duration percentile(int permille) const;

  static constexpr Duration kMax = hours(1);

 private:
  // Eight to each power of two of microseconds.
  static constexpr size_t kSteps = 8;
  static constexpr size_t kPowers = 33;
  static size_t bucket_of(int64_t micros);
  // The largest value that goes into it.
  static int64_t end_of(size_t bucket);

  std::array<uint64_t, kSteps* kPowers> buckets_ = {};
  uint64_t count_ = 0;
  Duration sum_;
};

}  // namespace proffer
