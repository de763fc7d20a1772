#pragma once

// Levels of water-filling: weighted dominant shares as fixed-point numbers.

#include <cstdint>

#include "common/limits.h"

namespace proffer::fair {

// kLevelOne is the whole cluster for a weight of one. A weight of 0.001 reaches the whole cluster
// at a thousand times that level.
inline constexpr int64_t kLevelOne = int64_t{1} << 30;
inline constexpr int64_t kLevelMax = kLevelOne * 1000;
static_assert(kWeightMin * 1000 == kWeightOne);

}  // namespace proffer::fair
