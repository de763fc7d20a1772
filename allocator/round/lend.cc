// Lends resources that are set aside for claims, or only estimated to be free, to asks with
// revocable_ok; begin with lend(). waiting/lending.h defines them, and takes them back. Asks with a
// time limit backfill claims (Lifka 1995, as in EASY): they use kept resources until the claim is
// complete; see backfill().

#include <algorithm>
#include <tuple>

#include "allocator/round/round.h"
#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"
#include "allocator/waiting/backfill.h"
#include "allocator/waiting/holds.h"

namespace proffer::fair {
namespace {

// The resources that are kept for a claim on the agent.
const Resources& to_lend(const Agent& a) { return a.keep.is_zero() ? a.free : a.kept; }

}  // namespace

// Returns whether resources were lent: the holder of estimated resources may then want less of
// those that others are entitled to.
bool Round::lend() {
  const std::map<uint64_t, AskEntry*>& claims = waiting_.claims.all();
  const bool some_claimed = std::any_of(claims.begin(), claims.end(), [&](const auto& claim) {
    const std::vector<Agent*> agents = waiting_.claims.agents_of(*claim.second);
    return std::any_of(agents.begin(), agents.end(),
                       [](const Agent* a) { return !to_lend(*a).is_zero(); });
  });
  const bool some_owed = std::any_of(cluster_.owed.begin(), cluster_.owed.end(),
                                     [](const Agent* a) { return !a->kept.is_zero(); });
  const bool some_estimated =
      std::any_of(cluster_.estimating.begin(), cluster_.estimating.end(),
                  [](const Agent* a) { return a->serves() && !a->estimate()->free.is_zero(); });
  if (!some_claimed && !some_owed && !some_estimated) return false;
  std::vector<Leaf*> takers;
  for (const auto& [id, l] : cluster_.leaves) {
    const bool takes =
        l->wants_offers() && std::any_of(l->order.begin(), l->order.end(), [](const AskEntry* ask) {
          const bool may = ask->ask.revocable_ok || ask->ask.max_run_time > Duration();
          return may && ask->ask.gang == 1 && ask->unmet() > 0;
        });
    if (takes) takers.push_back(l.get());
  }
  ResourceVector estimated;
  for (const Agent* a : cluster_.estimating) estimated += a->estimate()->total.amounts;
  // The leaf with the least estimated resources first, then by share.
  const auto comes_first = [&](const Leaf* a, const Leaf* b) {
    const Share of_a = dominant_share(a->estimated, estimated);
    const Share of_b = dominant_share(b->estimated, estimated);
    if (of_a != of_b) return of_a < of_b;
    const Rank ra = rank_of(*a);
    const Rank rb = rank_of(*b);
    if (ra != rb) return ra < rb;
    return std::tie(a->served, a->framework, a->role->name) <
           std::tie(b->served, b->framework, b->role->name);
  };
  complete_at_.clear();
  const uint64_t grants_before = grants_made_;
  while (!takers.empty()) {
    const auto first = std::min_element(takers.begin(), takers.end(), comes_first);
    if (!lend_to(**first)) takers.erase(first);
  }
  return grants_made_ > grants_before;
}

// Gives the leaf one task on lent or estimated resources.
bool Round::lend_to(Leaf& l) {
  for (AskEntry* ask : l.order) {
    if (ask->ask.gang > 1 || ask->unmet() == 0) continue;
    const bool has_claim = waiting_.claims.has_claim(*ask) || waiting_.gate.has_claim(*ask);
    if (has_claim) continue;  // Its own claim will serve it.
    if (!ask->ask.revocable_ok) {
      if (backfill(*ask)) return true;
      continue;
    }
    const auto give = [&](Agent& a, const Resources& free) {
      const Slice slice{.resources = carve(ask->ask.shape, free), .revocable = true};
      const ResourceVector before = a.free.amounts;
      grant(l, a, {slice}, ask, 1);
      // Other devices may be kept now, and more be free beside them.
      if (!a.free.amounts.fits_in(before)) cluster_.refresh(a, true);
      note_given(*ask, false);
      return true;
    };
    for (Agent* a : cluster_.estimating) {
      const Resources& free = a->estimate()->free;
      if (!a->serves() || !fits(ask->ask.shape, free) || !suits(*ask, *a, now_)) continue;
      return give(*a, free);
    }
    const Want want{.leaf = l, .amounts = ask->ask.shape, .borrow = ask->ask.borrow};
    if (!denial(cluster_, want).is_none()) continue;
    for (const auto& [order, claimant] : waiting_.claims.all()) {
      // A claimant that the end of lent use could serve is about to be served.
      if (claimant->leaf == &l || obstacles_of(cluster_, waiting_.claims, *claimant, now_).would_do)
        continue;
      for (Agent* const on : waiting_.claims.agents_of(*claimant)) {
        Agent& a = *on;
        if (a.estimate() != nullptr || !fits(ask->ask.shape, to_lend(a))) continue;
        if (suits(*ask, a, now_)) return give(a, to_lend(a));
      }
    }
  }
  return false;
}

// Gives the ask one task on resources kept for a claim. The task will have ended before the claim
// is complete, counted from the end of the offer's lease.
bool Round::backfill(AskEntry& ask) {
  const std::optional<Time> none_from = cluster_.options.naive.no_backfill_from;
  if (ask.ask.max_run_time == Duration() || (none_from && now_ >= *none_from)) return false;
  const Want want{.leaf = *ask.leaf, .amounts = ask.ask.shape, .borrow = ask.ask.borrow};
  if (!denial(cluster_, want).is_none()) return false;
  const auto give = [&](Agent& a) {
    if (!has_room_to_backfill(ask, a) || !suits(ask, a, now_)) return false;
    const Slice slice{.resources = carve(ask.ask.shape, a.kept)};
    const ResourceVector before = a.free.amounts;
    grant(*ask.leaf, a, {slice}, &ask, 1, 0, ask.ask.max_run_time);
    // Other devices may be kept now, and more be free beside them.
    if (!a.free.amounts.fits_in(before)) cluster_.refresh(a, true);
    note_given(ask, false);
    return true;
  };
  for (const auto& [order, claimant] : waiting_.claims.all()) {
    if (!may_backfill(ask, *claimant)) continue;
    for (Agent* const on : waiting_.claims.agents_of(*claimant)) {
      if (give(*on)) return true;
    }
  }
  // If a claim expects tasks to end, no other tasks may take their places.
  if (!waiting_.claims.all().empty()) return false;
  return std::any_of(cluster_.owed.begin(), cluster_.owed.end(), [&](Agent* a) {
    return has_room_to_backfill(ask, *a) && may_backfill_on(ask, *a) && give(*a);
  });
}

// Resources kept for an owed task, in a hold that may never be complete: a task that ends within
// such a hold does not count as a delay. (A hold for tasks that are expected to end is not
// backfilled: which of the freed places the claimant gets is unknown.)
bool Round::may_backfill_on(const AskEntry& ask, const Agent& a) const {
  return a.hold.is_speculative && a.claimant->leaf != ask.leaf &&
         ask.ask.max_run_time <= hold_max(cluster_);
}

// Whether a task of the ask does not delay the claim.
bool Round::may_backfill(const AskEntry& ask, const AskEntry& claimant) {
  const auto [known, is_new] = complete_at_.try_emplace(&claimant);
  if (is_new) known->second = waiting_.claims.complete_at(claimant, now_);
  const std::optional<Duration> longest =
      backfill_limit(cluster_, ask, claimant, known->second, now_);
  return longest && ask.ask.max_run_time <= *longest;
}

}  // namespace proffer::fair
