#pragma once

// The quantile of values that are partly unknown: for some, only a lower bound is known, because
// the measured wait goes on. Leaving these out would make the quantile too small, since large
// values become known last (Kaplan and Meier, 1958).

#include <cstdint>
#include <vector>

namespace proffer::master {

// The smallest of the `known` values such that at least this many thousandths of all values are not
// larger. A value in `larger_than` stands for any of the values above it, with equal probability.
// If the known values do not reach the quantile, the result is the largest value of both lists.
// There must be at least one value and at most kCensoredValuesMax; values are not negative. O(n log
// n).
inline constexpr int64_t kCensoredValuesMax = 1'000'000;
int64_t censored_quantile(const std::vector<int64_t>& known,
                          const std::vector<int64_t>& larger_than, int64_t thousandths);

}  // namespace proffer::master
