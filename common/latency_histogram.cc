#include "common/latency_histogram.h"

#include <algorithm>
#include <bit>

#include "common/check.h"

namespace proffer {

// Below kSteps each microsecond has its own bucket; above, the bits after the leading one choose
// among the eight of its power.
size_t LatencyHistogram::bucket_of(int64_t micros) {
  const auto value = static_cast<uint64_t>(micros);
  if (value < kSteps) return static_cast<size_t>(value);
  const auto power = static_cast<size_t>(std::bit_width(value)) - 4;  // 0 for 8 to 15
  return (power + 1) * kSteps + static_cast<size_t>((value >> power) - kSteps);
}

int64_t LatencyHistogram::end_of(size_t bucket) {
  if (bucket < kSteps) return static_cast<int64_t>(bucket);
  const size_t power = bucket / kSteps - 1;
  return static_cast<int64_t>(((bucket % kSteps + kSteps + 1) << power) - 1);
}

void LatencyHistogram::record(Duration duration) {
  const Duration kept = std::clamp(duration, Duration(), kMax);
  ++buckets_[bucket_of(kept.micros())];
  ++count_;
  sum_ = sum_ + kept;
}

Duration LatencyHistogram::percentile(int permille) const {
  CHECK(permille > 0 && permille <= 1'000) << permille;
  if (count_ == 0) return Duration();
  const uint64_t rank =
      std::max<uint64_t>(1, (count_ * static_cast<uint64_t>(permille) + 999) / 1'000);
  uint64_t seen = 0;
  size_t bucket = 0;
  for (; bucket < buckets_.size(); ++bucket) {
    seen += buckets_[bucket];
    if (seen >= rank) break;
  }
  return microseconds(end_of(bucket));
}

}  // namespace proffer
