// What is set aside for a claim, and what agents only estimate to be free, is used meanwhile by
// asks that say revocable_ok, one task at a time; what they hold is marked revocable. lend() gives
// it, take_back_lent() and take_back_estimates() take it back.
//
// What was lent counts in shares, like all that is of the cluster; estimates count in nothing, and
// go to whoever holds least of them. An agent that estimates lends nothing else, so that what is
// revocable there is its estimate. Gangs are not lent to.

#include <algorithm>
#include <tuple>

#include "allocator/state.h"

namespace proffer {

// Whether something was lent: who holds what is estimated holds nothing that others are entitled
// to, and may want less of that now.
bool Allocator::State::lend(Time now) {
  const bool some_claimed = std::any_of(claimed_.begin(), claimed_.end(), [](const auto& claim) {
    return std::any_of(claim.second->claim.begin(), claim.second->claim.end(),
                       [](const auto& claimed) { return !claimed.agent->free.is_zero(); });
  });
  const bool some_estimated =
      std::any_of(estimating_.begin(), estimating_.end(),
                  [](const Agent* a) { return a->serves() && !a->estimate()->free.is_zero(); });
  if (!some_claimed && !some_estimated) return false;
  std::vector<Leaf*> takers;
  for (const auto& [id, l] : leaves_) {
    const bool takes =
        l->wants_offers() && std::any_of(l->order.begin(), l->order.end(), [](const AskEntry* ask) {
          return ask->ask.revocable_ok && ask->ask.gang == 1 && ask->unmet() > 0;
        });
    if (takes) takers.push_back(l.get());
  }
  ResourceVector estimated;
  for (const Agent* a : estimating_) estimated += a->estimate()->total.amounts;
  // Whoever holds least of what is estimated, then by share.
  const auto comes_first = [&](const Leaf* a, const Leaf* b) {
    const Share of_a = dominant_share(a->estimated, estimated);
    const Share of_b = dominant_share(b->estimated, estimated);
    if (of_a != of_b) return of_a < of_b;
    const Rank ra = rank_of(*a, hungry_);
    const Rank rb = rank_of(*b, hungry_);
    if (ra != rb) return ra < rb;
    return std::tie(a->served, a->framework, a->role->name) <
           std::tie(b->served, b->framework, b->role->name);
  };
  const uint64_t gifts_before = gifts_made_;
  while (!takers.empty()) {
    const auto first = std::min_element(takers.begin(), takers.end(), comes_first);
    if (!lend_to(**first, now)) takers.erase(first);
  }
  return gifts_made_ > gifts_before;
}

// One task to the leaf, of what is lent or estimated.
bool Allocator::State::lend_to(Leaf& l, Time now) {
  for (AskEntry* ask : l.order) {
    if (!ask->ask.revocable_ok || ask->ask.gang > 1 || ask->unmet() == 0) continue;
    if (!ask->claim.empty()) continue;  // It has better to come.
    const auto give = [&](Agent& a, const Resources& free) {
      const Slice slice{.resources = carve(ask->ask.shape, free), .revocable = true};
      add_gift(l, a, {slice}, ask, 1);
      note_given(
          *ask, false,
          !ask->ask.prefer.empty() && nearness(ask->ask.prefer, a) != fair::Nearness::kAnywhere,
          now);
      return true;
    };
    for (Agent* a : estimating_) {
      const Resources& free = a->estimate()->free;
      if (!a->serves() || !fits(ask->ask.shape, free) || !suits(*ask, *a, now)) continue;
      return give(*a, free);
    }
    if (!barred(l, ask->ask.shape, ask->ask.borrow, nullptr).is_none()) continue;
    for (const auto& [order, claimant] : claimed_) {
      // Who could be served by ending what is lent is about to be.
      if (claimant->leaf == &l || obstacles_of(*claimant).would_do) continue;
      for (const fair::Claimed& claimed : claimant->claim) {
        Agent& a = *claimed.agent;
        if (a.estimate() != nullptr || !fits(ask->ask.shape, a.free)) continue;
        if (suits(*ask, a, now)) return give(a, a.free);
      }
    }
  }
  return false;
}

// For each claim, in their order: if the claimant would fit were what is lent there ended, it is.
// Returns whether offers were taken back.
bool Allocator::State::take_back_lent(Time now) {
  bool some_offers = false;
  std::vector<AskEntry*> claimants;
  for (const auto& [order, ask] : claimed_) claimants.push_back(ask);
  for (AskEntry* ask : claimants) {
    const Obstacles obstacles = obstacles_of(*ask);
    if (!obstacles.would_do || !barred(*ask).is_none()) continue;
    for (const OfferId& id : obstacles.offers) rescind(id, RescindReason::kReclaimed);
    some_offers = some_offers || !obstacles.offers.empty();
    for (const auto& [a, task] : obstacles.tasks) {
      revoke(*a, task, RevokeReason::kLent, ask->leaf->role->name, now);
    }
  }
  return some_offers;
}

// What has had its notice counts as ended. Of the rest the newest goes first, offers before tasks,
// lower bands before higher ones; no more than is needed.
Allocator::State::Obstacles Allocator::State::obstacles_of(const AskEntry& ask) const {
  Obstacles found;
  int64_t left = ask.ask.gang;
  const RoleName& role = ask.leaf->role->name;
  for (const fair::Claimed& claimed : ask.claim) {
    Agent& a = *claimed.agent;
    const int64_t most = ask.counts.room(ask.ask, a, std::min(capacity(ask, a), left));
    fair::Books books = a;
    const auto room = [&] {
      books.compute_free();
      return fair::count_that_fits(ask.ask.shape, books, role, most);
    };
    std::vector<std::pair<const fair::Task*, fair::TaskRef>> lent;
    for (const auto& [ref, task] : a.tasks) {
      if (task.ends_by) books.end_allocated(task);
      if (task.lent && !task.ends_by) lent.push_back({&task, ref});
    }
    int64_t fits_here = room();
    for (auto id = a.offers.rbegin(); id != a.offers.rend() && fits_here < most; ++id) {
      const fair::OutstandingOffer& offer = *outstanding_.find(*id);
      if (!offer.lent) continue;
      books.end_offered(offer);
      found.offers.push_back(*id);
      fits_here = room();
    }
    std::sort(lent.begin(), lent.end(), [](const auto& x, const auto& y) {
      return std::tuple(x.first->claim.band, y.first->since, y.second) <
             std::tuple(y.first->claim.band, x.first->since, x.second);
    });
    for (const auto& [task, ref] : lent) {
      if (fits_here >= most) break;
      books.end_allocated(*task);
      found.tasks.push_back({&a, ref});
      fits_here = room();
    }
    left -= fits_here;
  }
  found.would_do = left == 0;
  return found;
}

// Estimates that have shrunk below what runs on them.
void Allocator::State::take_back_estimates(Time now) {
  for (Agent* a : estimating_) {
    fair::Books books = *a;
    std::vector<std::pair<const fair::Task*, fair::TaskRef>> tasks;
    for (const auto& [ref, task] : a->tasks) {
      if (task.estimated().is_zero()) continue;
      if (task.ends_by) {
        books.end_allocated(task);
      } else {
        tasks.push_back({&task, ref});
      }
    }
    std::sort(tasks.begin(), tasks.end(), [](const auto& x, const auto& y) {
      return std::tuple(x.first->claim.band, y.first->since, y.second) <
             std::tuple(y.first->claim.band, x.first->since, x.second);
    });
    for (const auto& [task, ref] : tasks) {
      const fair::Part* estimate = books.estimate();
      if (estimate == nullptr || estimate->allocated.amounts().fits_in(estimate->total.amounts)) {
        break;
      }
      books.end_allocated(*task);
      revoke(*a, ref, RevokeReason::kEstimate, {}, now);
    }
  }
}

}  // namespace proffer
