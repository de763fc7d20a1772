#include "allocator/waiting/holds.h"

#include <algorithm>

namespace proffer::fair {
namespace {

constexpr Duration kHoldMin = seconds(1);
constexpr int64_t kHoldMaxFactor = 3;
constexpr int64_t kRestFactor = 9;
// One in this many agents, and at least this many.
constexpr int64_t kSpeculativePart = 10;
constexpr int64_t kSpeculativeMin = 2;

ResourceVector kept_on(const Agent& a) { return a.kept.amounts + a.lent; }

}  // namespace

Duration hold_min(const Cluster& cluster) {
  return std::max(cluster.options.claim_after, kHoldMin);
}

Duration hold_max(const Cluster& cluster) { return hold_min(cluster) * kHoldMaxFactor; }

void begin_hold(Cluster& cluster, Agent& a, bool is_speculative, Time now) {
  a.hold = {.since = now, .progress_at = now, .most = kept_on(a)};
  if (is_speculative) become_speculative(cluster, a);
}

void become_speculative(Cluster& cluster, Agent& a) {
  if (!a.hold.is_speculative) ++cluster.speculative_holds;
  a.hold.is_speculative = true;
}

bool is_in_vain(Agent& a, Duration hold, Time now) {
  const ResourceVector kept = kept_on(a);
  if (!kept.fits_in(a.hold.most)) {
    a.hold.most = a.hold.most.max(kept);
    a.hold.progress_at = now;
  }
  return now - a.hold.progress_at >= hold;
}

void rest_after_hold(Agent& a, Time now) {
  a.rests_until = later(now, (now - a.hold.since) * kRestFactor);
}

bool rests(const Agent& a, Time now) { return now < a.rests_until; }

bool may_speculate(const Cluster& cluster) {
  const auto agents = static_cast<int64_t>(cluster.agents.size());
  return cluster.speculative_holds < std::max(agents / kSpeculativePart, kSpeculativeMin);
}

}  // namespace proffer::fair
