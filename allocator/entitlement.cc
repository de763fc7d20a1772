#include "allocator/entitlement.h"

#include <algorithm>
#include <numeric>

namespace proffer::fair {

std::vector<int64_t> fill_with_water(int64_t whole, const std::vector<Claimant>& claimants) {
  // Who wants least for its weight is satisfied first; the rest is split among those left.
  std::vector<size_t> by_thirst(claimants.size());
  std::iota(by_thirst.begin(), by_thirst.end(), size_t{0});
  std::stable_sort(by_thirst.begin(), by_thirst.end(), [&](size_t a, size_t b) {
    return claimants[a].demand * claimants[b].weight < claimants[b].demand * claimants[a].weight;
  });
  int64_t weights_left = 0;
  for (const Claimant& claimant : claimants) weights_left += claimant.weight;
  std::vector<int64_t> levels(claimants.size(), 0);
  int64_t left = whole;
  for (const size_t i : by_thirst) {
    levels[i] = std::min(claimants[i].demand, left * claimants[i].weight / weights_left);
    left -= levels[i];
    weights_left -= claimants[i].weight;
  }
  return levels;
}

}  // namespace proffer::fair
