#pragma once

// The quantile of values that are not all known yet: of some it is only known that they are larger
// than so much, since what they measure goes on. To leave those out would make the quantile too
// small, because the large values become known last (Kaplan and Meier, 1958).

#include <cstdint>
#include <vector>

namespace proffer::master {

// The smallest of the `known` values that at least so many thousandths of all values are not larger
// than. What is true of each of `larger_than` counts as one of the values above it, all alike. The
// largest value of both, if the known ones do not reach the quantile. There must be at least one
// value, and at most kCensoredValuesMax; values are not negative. O(n log n).
inline constexpr int64_t kCensoredValuesMax = 1'000'000;
int64_t censored_quantile(const std::vector<int64_t>& known,
                          const std::vector<int64_t>& larger_than, int64_t thousandths);

}  // namespace proffer::master
