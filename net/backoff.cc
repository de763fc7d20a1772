// When to try again.

#include "net/backoff.h"

#include <algorithm>

namespace proffer {
namespace {

// One step of splitmix64 (Steele, Lea and Flood, OOPSLA 2014): any seed will do, also 0.
uint64_t next_random(uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

constexpr int kDoublingsMax = 30;  // keeps the product within 64 bits; the maximum comes long before

}  // namespace

Duration Backoff::next() {
  Duration wait = limits_.min;
  for (int i = 0; i < std::min(attempts_, kDoublingsMax) && wait < limits_.max; ++i) {
    wait = wait * 2;
  }
  wait = std::min(wait, limits_.max);
  ++attempts_;
  const int64_t half = wait.nanos() / 2;
  const auto extra =
      static_cast<int64_t>(next_random(state_) % (static_cast<uint64_t>(half) + 1));
  return Duration::nanos(wait.nanos() - half + extra);
}

}  // namespace proffer
