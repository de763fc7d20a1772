#pragma once

// Amounts as fractions of the cluster's total, so that different kinds can be added.

#include <algorithm>
#include <cstdint>

#include "common/resources.h"

namespace proffer::fair {

// In units of 2^-30, rounded down; the relative error is at most 2^-10, at the largest possible
// total. An amount above the total counts as the total: between decisions an agent may have come
// that the total does not include yet. Kinds that the cluster does not have are zero.
class Fractions {
 public:
  explicit Fractions(const ResourceVector& total) : total_(total) {
    for (const ResourceKind kind : kResourceKinds) {
      if (total[kind] > 0) each_[kind] = (int64_t{1} << 2 * kBits) / total[kind];
    }
  }
  int64_t of(int64_t amount, ResourceKind kind) const {
    return std::min(amount, total_[kind]) * each_[kind] >> kBits;
  }
  int64_t sum_of(const ResourceVector& amounts) const {
    int64_t sum = 0;
    for (const ResourceKind kind : kResourceKinds) sum += of(amounts[kind], kind);
    return sum;
  }

 private:
  static constexpr int kBits = 30;
  const ResourceVector& total_;
  ResourceVector each_;
};

}  // namespace proffer::fair
