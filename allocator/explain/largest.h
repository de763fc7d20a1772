#pragma once

#include <cstdint>

namespace proffer::fair {

// The largest number in [low, high] for which `holds` is true, by binary search. Requires: `holds`
// is true for `low`; if it is true for a number, it is true for every smaller one.
template <class Holds>
int64_t largest(int64_t low, int64_t high, Holds holds) {
  while (low < high) {
    const int64_t middle = high - (high - low) / 2;
    if (holds(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace proffer::fair
