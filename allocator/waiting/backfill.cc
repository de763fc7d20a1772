#include "allocator/waiting/backfill.h"

#include "allocator/rules/denial.h"

namespace proffer::fair {
namespace {

// The leaf's role just below the root: leaves of different top roles have no limit in common.
const Role* top_role(const Leaf& l) {
  const Role* role = l.role;
  while (role->parent != nullptr && role->parent->parent != nullptr) role = role->parent;
  return role;
}

}  // namespace

std::optional<Duration> backfill_limit(const Cluster& cluster, const AskEntry& ask,
                                       const AskEntry& claimant, std::optional<Time> complete_at,
                                       Time now) {
  // Then all use counts against guarantees.
  if (!complete_at || holds_guarantees(cluster)) return std::nullopt;
  const bool is_beside = top_role(*ask.leaf) != top_role(*claimant.leaf);
  const Want both{.leaf = *claimant.leaf,
                  .amounts = claimant.at_once() + (is_beside ? ResourceVector() : ask.ask.shape),
                  .borrow = claimant.ask.borrow,
                  .claimant = &claimant};
  if (!denial(cluster, both).is_none()) return std::nullopt;
  return *complete_at - now - cluster.lease_of(*ask.leaf) - surely_takes(Duration());
}

bool has_room_to_backfill(const AskEntry& ask, const Agent& on) {
  return on.parts.empty() && !on.keep.is_zero() && fits(ask.ask.shape, on.kept);
}

}  // namespace proffer::fair
