// Begin with wait_reason(): first the reasons that no free agent would change, then the agents with
// room, then the room that others have.

#include "allocator/explain/wait_reason.h"

#include <algorithm>

#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"

namespace proffer::fair {
namespace {

// The reason on an agent with enough free amounts; empty: the agent is not for the ask.
std::optional<WaitReason> reason_at(const AskEntry& ask, const Agent& a, Time now) {
  if (!ask.matches(a)) return std::nullopt;
  if (is_filtered(*ask.leaf, a, now)) return WaitReason::kDeclined;
  if (ask.only_preferred(now) && nearness(ask.ask.prefer, a) == Nearness::kAnywhere) {
    return WaitReason::kLocality;
  }
  if (!ask.ask.max_per.empty() && ask.counts.full(ask.ask, a) != nullptr) {
    return WaitReason::kSpread;
  }
  if (a.ports_left() < ask.ask.ports || missing_port(ask.ask.static_ports, a.free_ports)) {
    return WaitReason::kPorts;
  }
  if (!withheld_from(ask, a.withheld).is_zero() && room_for(ask, a, 1) == 0) {
    return WaitReason::kGuarantees;
  }
  return ask.ask.gang > 1 ? WaitReason::kGang : WaitReason::kTurn;
}

// The reason on the agents with room: the one on the best agent for the ask. If only the turns of
// others hinder the ask there, no other agent matters.
std::optional<WaitReason> reason_of_room(const Cluster& cluster, const AskEntry& ask, Time now) {
  std::optional<WaitReason> found;
  int looked = 0;
  visit_free(cluster, ask, [&](const Agent* a) {
    const std::optional<WaitReason> here = reason_at(ask, *a, now);
    if (here) found = found ? std::max(*found, *here) : *here;
    return found == WaitReason::kTurn || ++looked == kPlacesLookedAt;
  });
  return found;
}

// Whether the ask would fit there if it had `free`; resources set aside for the ask itself do not
// hinder it.
bool would_fit(const AskEntry& ask, const Agent& a, const ResourceVector& free) {
  return !ask.claims(a) && a.serves() && ask.matches(a) && ask.ask.shape.fits_in(free);
}

// The reason on agents that are set aside for others.
std::optional<WaitReason> reason_set_aside(const Cluster& cluster, const Waiting& waiting,
                                           const AskEntry& ask) {
  int looked = 0;
  for (const Agent* a : cluster.owed) {
    if (++looked > kPlacesLookedAt) break;
    if (would_fit(ask, *a, a->free_and_kept().amounts)) return WaitReason::kOwed;
  }
  looked = 0;
  for (const auto& [number, claimant] : waiting.claims.all()) {
    for (const Agent* a : waiting.claims.agents_of(*claimant)) {
      if (++looked > kPlacesLookedAt) return std::nullopt;
      if (would_fit(ask, *a, a->free_and_kept().amounts)) return WaitReason::kClaim;
    }
  }
  return std::nullopt;
}

// Whether the ask would fit an agent if offers to others ended there.
bool waits_for_offers(const Cluster& cluster, const AskEntry& ask) {
  int looked = 0;
  for (const auto& [id, offer] : cluster.outstanding.all()) {
    if (offer.leaf->owner == ask.leaf->owner) continue;
    if (++looked > kPlacesLookedAt) return false;
    const Agent& a = *offer.agent;
    const ResourceVector free = a.free_and_kept().amounts + a.counted_offered();
    if (would_fit(ask, a, free)) return true;
  }
  return false;
}

WaitReason reason_of(const Denial& denied) {
  switch (denied.why) {
    case Denial::Why::kTasksUnknown:
      return WaitReason::kRecovering;
    case Denial::Why::kGuarantees:
      return WaitReason::kGuarantees;
    case Denial::Why::kEntitlement:
      return WaitReason::kEntitlement;
    default:
      return WaitReason::kLimit;
  }
}

}  // namespace

WaitReason wait_reason(const Cluster& cluster, const Waiting& waiting, const AskEntry& ask,
                       Time now) {
  const Framework& framework = *ask.leaf->owner;
  if (framework.suppressed) return WaitReason::kSuppressed;
  if (framework.paused || ask.paused) return WaitReason::kBackOff;
  if (!exceeded_limit(ask).is_none()) return WaitReason::kLimit;
  if (!could_be_served(cluster, ask)) {
    return could_be_met(cluster, ask) ? WaitReason::kAgentMissing : WaitReason::kImpossible;
  }
  if (const Denial denied = denial(cluster, ask); !denied.is_none()) return reason_of(denied);
  if (const auto reason = reason_of_room(cluster, ask, now)) return *reason;
  if (const auto reason = reason_set_aside(cluster, waiting, ask)) return *reason;
  if (waits_for_offers(cluster, ask)) return WaitReason::kOffers;
  const ResourceVector free = cluster.free_agents.sum(ask.leaf->role->name);
  if (!ask.is_inflexible() && ask.at_once().fits_in(free)) return WaitReason::kFragmentation;
  return waiting.gate.is_owed(ask, now) ? WaitReason::kBorrowed : WaitReason::kShare;
}

}  // namespace proffer::fair
