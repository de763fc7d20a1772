#pragma once

// The books of an agent or a leaf take a dozen cache lines or more. In a large cluster an event
// finds them outside the cache; this requests all lines together, so that the misses overlap.

#include <cstddef>

namespace proffer::fair {

template <class Of>
void prefetch(const Of& value) {
  constexpr size_t kCacheLine = 64;
  const auto* const bytes = reinterpret_cast<const char*>(&value);
  for (size_t at = 0; at < sizeof(Of); at += kCacheLine) __builtin_prefetch(bytes + at);
}

}  // namespace proffer::fair
