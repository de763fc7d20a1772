#pragma once

// The patience with a framework: how long its offers may stay unanswered while a framework below
// its share waits for their resources (waiting/unanswered.h). It is learned from the answers.

#include <algorithm>

#include "common/time.h"

namespace proffer::fair {

inline constexpr Duration kOfferPatienceFirst = seconds(1);
inline constexpr Duration kOfferPatienceMin = milliseconds(250);
inline constexpr Duration kOfferPatienceMax = seconds(8);

// The patience after an offer of this age was used. A framework that needs more than half of its
// patience gets twice as much.
constexpr Duration patience_after_use(Duration patience, Duration age) {
  const Duration now = std::max(patience, kOfferPatienceFirst);
  return age * 2 > now ? std::min(now * 2, kOfferPatienceMax) : now;
}

// The patience after an offer was held and not used: half, and no more than half of the first one,
// so that one use does not pay for a later hold.
constexpr Duration patience_without_use(Duration patience) {
  return std::max(std::min(patience, kOfferPatienceFirst) / 2, kOfferPatienceMin);
}

}  // namespace proffer::fair
