#pragma once

// The seeds 1, 2, … with which a property is tested. For every property:
//
//   PROFFER_CASES=100000   this number instead of the test's own
//   PROFFER_CASE=4711      only this seed
//
// A case takes some thirty times as long with sanitizers, so only a fiftieth of the number runs,
// and at least two: these runs look for memory errors, and other runs check the laws.

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "tests/support/long.h"

namespace proffer {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

// The number of seeds of a simulator workload with its own test. It finds each planted bug
// (tests/mutations/list.txt); the nightly run tries more.
inline uint64_t seeds_of_a_workload() {
  if (kIsSanitized) return 3;
  return test::is_long() ? 1'000 : 300;
}

class Seeds {
 public:
  class Iterator {
   public:
    explicit Iterator(uint64_t seed) : seed_(seed) {}
    uint64_t operator*() const { return seed_; }
    Iterator& operator++() {
      ++seed_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return seed_ != other.seed_; }

   private:
    uint64_t seed_;
  };

  explicit Seeds(uint64_t usual) : usual_(usual), last_(usual) {
    if (kIsSanitized) last_ = std::max<uint64_t>(usual / 50, 2);
    last_ = number_of("PROFFER_CASES", last_);
    if (const uint64_t only = number_of("PROFFER_CASE", 0); only > 0) first_ = last_ = only;
  }

  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(last_ + 1); }

  // Whether at least the test's own number runs, so that its subject must have occurred.
  bool enough() const { return last_ - first_ + 1 >= usual_; }
  // Whether only one case was requested.
  static bool one_only() { return number_of("PROFFER_CASE", 0) > 0; }

 private:
  static uint64_t number_of(const char* variable, uint64_t otherwise) {
    const char* given = std::getenv(variable);
    return given == nullptr || *given == '\0' ? otherwise : std::strtoull(given, nullptr, 10);
  }

  uint64_t usual_;
  uint64_t first_ = 1;
  uint64_t last_;
};

}  // namespace proffer
