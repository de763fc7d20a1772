#pragma once

#include <cstdint>

namespace proffer::fair {

// The largest in [low, high] of which `holds`; it holds of `low`, and of all below one of which it
// holds.
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
