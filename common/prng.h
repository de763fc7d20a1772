#pragma once

// A small seeded generator (SplitMix64, Steele et al., OOPSLA 2014) for jitter and simulations. It
// gives the same numbers on every machine. Never use it for secrets.

#include <cstdint>

#include "common/check.h"

namespace proffer {

class Prng {
 public:
  explicit constexpr Prng(uint64_t seed) : state_(seed) {}

  constexpr uint64_t next() {
    state_ += 0x9E3779B97F4A7C15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // Uniform over 0..bound-1, except for a bias below bound / 2^64. Needs bound > 0.
  uint64_t below(uint64_t bound) {
    CHECK_GT(bound, 0u);
    return next() % bound;
  }
  // Uniform over first..last, both included.
  int64_t between(int64_t first, int64_t last) {
    CHECK_LE(first, last);
    const uint64_t width = static_cast<uint64_t>(last) - static_cast<uint64_t>(first);
    const uint64_t step = width == ~uint64_t{0} ? next() : below(width + 1);
    return static_cast<int64_t>(static_cast<uint64_t>(first) + step);  // wraps to the right value
  }
  // True with probability numerator / denominator.
  bool chance(uint64_t numerator, uint64_t denominator) { return below(denominator) < numerator; }

 private:
  uint64_t state_;
};

}  // namespace proffer
