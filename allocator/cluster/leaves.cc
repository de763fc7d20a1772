#include "allocator/cluster/leaves.h"

#include <algorithm>
#include <tuple>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

bool AskEntry::matches(const AgentState& agent) const {
  if (ask.constraints.empty()) return true;
  Matched& known = matched_[agent.slot];
  if (known.attributes_version != agent.attributes_version) {
    known = {agent.attributes_version, matcher.matches(agent.id, agent.attributes)};
  }
  return known.matches;
}

void AskEntry::match_by(ConstraintMatcher other) {
  matcher = std::move(other);
  matched_.clear();
}

bool AskEntry::has_headroom() const {
  for (const Role* role = leaf->role; role->parent != nullptr; role = role->parent) {
    const std::vector<AskEntry*>& kept = role->headroom;
    if (std::find(kept.begin(), kept.end(), this) != kept.end()) return true;
  }
  return false;
}

Duration Cluster::lease_of(const Leaf& leaf) const {
  const Duration longest = options.offer_timeout;
  return std::min(longest, leaf.owner->lease_max.value_or(longest));
}

std::optional<Filter> Framework::filter_on(const AgentState& agent) const {
  if (filtered_on(agent) == Filtered::kNo) return std::nullopt;
  if (filtered_on(agent) == Filtered::kForAReason) return reasons.at(agent.id);
  return Filter{.until = declines[agent.slot].until};
}

bool AskEntry::is_implied() const { return leaf->owner->implied == this; }

bool AskEntry::leaf_wants() const { return leaf->owner->takes_offers(); }

bool Leaf::wants_offers() const {
  if (!owner->takes_offers()) return false;
  if (mode == OfferMode::kOpen) return this == owner->own;
  return std::any_of(order.begin(), order.end(), [](const AskEntry* a) { return a->unmet() > 0; });
}

AskEntry* Leaf::implied() const {
  AskEntry* const ask = this == owner->own ? owner->implied : nullptr;
  return ask != nullptr && ask->unmet() > 0 ? ask : nullptr;
}

bool Leaf::is_needed() const {
  return this == owner->own || !order.empty() || tasks > 0 || !offers.empty() || !use().is_zero();
}

void Leaf::sort_asks() {
  std::sort(order.begin(), order.end(), [](const AskEntry* a, const AskEntry* b) {
    return std::tuple(-int64_t{a->ask.priority}, a->granted_at, a->place) <
           std::tuple(-int64_t{b->ask.priority}, b->granted_at, b->place);
  });
}

void Leaf::move_behind_peers(const AskEntry& ask) {
  if (order.size() < 2) return;
  const auto at = std::find(order.begin(), order.end(), &ask);
  const auto end = std::find_if(at, order.end(), [&](const AskEntry* other) {
    return other->ask.priority != ask.ask.priority;
  });
  std::rotate(at, at + 1, end);
}

}  // namespace proffer::fair
