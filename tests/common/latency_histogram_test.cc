#include "common/latency_histogram.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "common/prng.h"

namespace proffer::latency_histogram_test {
namespace {

TEST(LatencyHistogram, HasNothingToSayBeforeTheFirstValue) {
  const LatencyHistogram empty;
  EXPECT_EQ(empty.count(), 0u);
  EXPECT_EQ(empty.percentile(500), Duration());
}

TEST(LatencyHistogram, KeepsSmallValuesExactly) {
  LatencyHistogram histogram;
  for (int64_t micros = 1; micros <= 7; ++micros) histogram.record(microseconds(micros));
  EXPECT_EQ(histogram.percentile(1), microseconds(1));
  EXPECT_EQ(histogram.percentile(500), microseconds(4));
  EXPECT_EQ(histogram.percentile(1'000), microseconds(7));
  EXPECT_EQ(histogram.sum(), microseconds(28));
}

TEST(LatencyHistogram, ClampsWhatCannotBe) {
  LatencyHistogram histogram;
  histogram.record(nanoseconds(-5));
  EXPECT_EQ(histogram.percentile(1'000), Duration());
  histogram.record(hours(5));
  EXPECT_GE(histogram.percentile(1'000), hours(1));
  EXPECT_LE(histogram.percentile(1'000), hours(1) + hours(1) / 8);
}

// Compared with the sorted values: never below the exact percentile, at most an eighth above.
TEST(LatencyHistogram, IsWithinAnEighthOfTheExactPercentile) {
  Prng prng(7);
  for (int round = 0; round < 50; ++round) {
    LatencyHistogram histogram;
    std::vector<int64_t> values;
    const int64_t largest = int64_t{1} << prng.between(1, 31);
    for (int64_t i = prng.between(1, 400); i > 0; --i) {
      values.push_back(prng.between(0, largest));
      histogram.record(microseconds(values.back()));
    }
    std::sort(values.begin(), values.end());
    for (const int permille : {1, 10, 500, 900, 990, 999, 1'000}) {
      const size_t rank =
          std::max<size_t>(1, (values.size() * static_cast<size_t>(permille) + 999) / 1'000);
      const int64_t exact = values[rank - 1];
      const int64_t told = histogram.percentile(permille).micros();
      EXPECT_GE(told, exact);
      EXPECT_LE(told, exact + exact / 8) << "of " << exact;
    }
  }
}

}  // namespace
}  // namespace proffer::latency_histogram_test
