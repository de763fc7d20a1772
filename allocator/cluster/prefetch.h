#pragma once

// The books of an agent or a leaf are a dozen cache lines and more. In a large cluster an event
// finds them in memory that nobody has touched for long: asked for together, they come together.

#include <cstddef>

namespace proffer::fair {

template <class Of>
void prefetch(const Of& value) {
  constexpr size_t kCacheLine = 64;
  const auto* const bytes = reinterpret_cast<const char*>(&value);
  for (size_t at = 0; at < sizeof(Of); at += kCacheLine) __builtin_prefetch(bytes + at);
}

}  // namespace proffer::fair
