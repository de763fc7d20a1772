#pragma once

// The seeds 1, 2, … that a property is tried with. For every property:
//
//   PROFFER_CASES=100000   so many instead of as many as the test names
//   PROFFER_CASE=4711      this one only
//
// Under sanitizers, where a case takes some thirty times as long, a fiftieth of what the test
// names, and two at least: there they look for errors of memory, and the laws are checked without
// them.

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

// Of a workload of the simulator that is run for its own sake. Each planted bug
// (tests/mutations/list.txt) is found within so many; the night tries more.
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

  // Whether these are as many as the test names: enough that the runs must have been about
  // something.
  bool enough() const { return last_ - first_ + 1 >= usual_; }
  // Whether somebody looks at one case alone.
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
