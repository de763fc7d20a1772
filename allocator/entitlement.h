#pragma once

// How much of something shared by weight each may count on.

#include <cstdint>
#include <vector>

namespace proffer::fair {

// Entitlements are parts of the cluster, kWhole being all of it.
inline constexpr int64_t kWhole = int64_t{1} << 30;

struct Claimant {
  int64_t weight = 0;  // milli-weights, above zero
  int64_t demand = 0;  // 0..kWhole
};

// Water-filling: `whole` (0..kWhole) split by weight, nobody more than its demand, what one does
// not want going to the others. In the order of the claimants; rounded down, so the sum is at most
// `whole`. O(n log n).
std::vector<int64_t> fill_with_water(int64_t whole, const std::vector<Claimant>& claimants);

}  // namespace proffer::fair
