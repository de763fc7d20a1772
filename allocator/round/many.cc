// Many tasks at once, while resources are plentiful: WaterFilling counts the tasks of each leaf,
// then the tasks of a leaf are placed together, agent by agent. So leaves with equal shares need no
// turns of single tasks, and an offer holds as many tasks as its agent has room for.

#include <algorithm>

#include "allocator/round/round.h"
#include "allocator/rules/fit.h"
#include "allocator/rules/placement.h"

namespace proffer::fair {

// The wish of a leaf whose next tasks are of one ask with no condition but the fit; else an empty
// wish.
WaterFilling::Wish Round::wish_of(Leaf& l) const {
  if (l.mode == OfferMode::kOpen || l.owner->filter_count > 0) return {};
  AskEntry* one = nullptr;
  for (AskEntry* ask : l.order) {
    if (ask->unmet() == 0) continue;
    if (one != nullptr) return {};
    one = ask;
  }
  if (one == nullptr) return {};
  const Ask& ask = one->ask;
  const bool is_plain = ask.gang == 1 && ask.ports == 0 && ask.borrow && ask.spread.empty() &&
                        ask.max_per.empty() && ask.prefer.empty() && !one->is_inflexible();
  const bool waits = !one->set_aside.empty() || one->has_headroom() || waiting_.claims.is_due(*one);
  if (!is_plain || waits) return {};
  for (const Role* role = l.role; role->parent != nullptr; role = role->parent) {
    if (role->has_limit()) return {};
  }
  const int64_t most =
      owed_only_ ? waiting_.gate.owed_tasks(*one, one->unmet(), now_) : one->unmet();
  return {one, most};
}

void Round::fill_many(const LeafOrder& order) {
  if (!fills_up(cluster_.options.placement) || cluster_.promises_any()) return;
  if (cluster_.some_inflexible) return;
  WaterFilling filling(cluster_, order, [&](Leaf& l) { return wish_of(l); });
  if (!filling.may_begin()) return;
  // The minimum of each kind over the agents on which each of these tasks fits.
  int64_t agents = 0;
  ResourceVector least;
  for (const Agent* a : cluster_.free_agents.fresh()) {
    const ResourceVector& free = a->free.amounts;
    if (!a->listed || !a->parts.empty() || a->claimant != nullptr) continue;
    if (!filling.largest_shape().fits_in(free)) continue;
    least = agents++ == 0 ? free : least.min(free);
  }
  for (const Batch& batch : filling.fill(agents, least)) {
    for (int64_t left = batch.count; left > 0;) {
      Agent* const a = place(*batch.ask);
      if (a == nullptr) break;
      left -= give_of(batch, left, *a);
    }
  }
}

int64_t Round::give_of(const Batch& batch, int64_t left, Agent& a) {
  const int64_t count = room_for(*batch.ask, a, left);
  give_tasks(*batch.ask, a, {.leaf = batch.ask->leaf}, count, batch.before);
  return count;
}

}  // namespace proffer::fair
