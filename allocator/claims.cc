// Nobody starves. An ask that has waited for claim_after and whose leaf is first by share gets a
// claim: an agent on which what becomes free is set aside until the ask fits. assign_claims()
// first.
//
// One claim per leaf and per agent, so a later claim never waits for what an earlier one holds. A
// claim stays where it is while things become free there; if nothing does for claim_after, it moves
// to another agent: tasks that never end must not decide who is served.

#include <algorithm>
#include <tuple>

#include "allocator/state.h"

namespace proffer {
namespace {

// However short claim_after is, a claim stays at least so long where nothing becomes free.
constexpr Duration kClaimReviewMin = seconds(1);

}  // namespace

bool Allocator::State::AskTimer::operator<(const AskTimer& o) const {
  return std::tie(at, ask->leaf->framework, ask->ask.name) <
         std::tie(o.at, o.ask->leaf->framework, o.ask->ask.name);
}

// At the end of a decision. Leaves in order of share, until one comes first that could be served
// without a claim, or has one already: who has more waits for it. Of equals each may have one.
void Allocator::State::assign_claims(Time now) {
  if (due_.empty()) return;
  std::optional<Rank> barrier;
  const auto visit = [&](Leaf& l) {
    const Rank rank = rank_of(l, hungry_);
    if (barrier && *barrier < rank) return false;
    if (l.mode == OfferMode::kOpen) return true;
    if (l.claimed != nullptr) {
      // Who is behind waits for it, unless there is no telling how long.
      if (!barrier && !l.claimed->claim_stuck) barrier = rank;
      return true;
    }
    AskEntry* ask = claimable_ask(l);
    const bool has_claim = ask != nullptr && claim(*ask, now);
    if (!barrier && (has_claim || may_be_served_later(l, now))) barrier = rank;
    return !due_.empty();
  };
  hungry_.for_each(visit);
  // Who was first when it was its turn has the right too, even if it was given something smaller.
  for (const auto& [l, rank] : least_with_due_) {
    if (barrier && *barrier < rank) continue;
    if (l->claimed != nullptr || !hungry_.contains(*l)) continue;
    if (AskEntry* ask = claimable_ask(*l)) claim(*ask, now);
  }
}

// The leaf's first ask by priority that has waited long enough and for which there may be an agent.
fair::AskEntry* Allocator::State::claimable_ask(Leaf& l) const {
  for (AskEntry* ask : l.order) {
    if (ask->unmet() <= ask->reclaiming) continue;
    if (!ask->due || ask->hopeless_at == agents_version_) continue;
    if (!barred(*ask).is_none()) continue;
    if (ask->claim_tried != claimable_version_) return ask;
  }
  return nullptr;
}

// Whether a leaf without a claim is still to be served before those behind it: it has an ask that
// waits and that some agent fits that it does not refuse.
bool Allocator::State::may_be_served_later(const Leaf& l, Time now) const {
  return std::any_of(l.order.begin(), l.order.end(), [&](const AskEntry* ask) {
    if (ask->unmet() == 0 || ask->due || !barred(*ask).is_none()) return false;
    return std::any_of(agents_.begin(), agents_.end(), [&](const auto& a) {
      return a.second->serves() && could_ever_fit(*ask, *a.second) &&
             !is_filtered(l, *a.second, now);
    });
  });
}

bool Allocator::State::could_ever_fit(const AskEntry& ask, const Agent& a) const {
  return fits(ask.ask.shape, a.total) && a.ports.size() >= ask.ask.ports && ask.matches(a);
}

// The agent that needs the least to become free; of those, the one with most free, then by id.
fair::Agent* Allocator::State::claimable_agent(const AskEntry& ask, Time now) const {
  Agent* best = nullptr;
  std::pair<int64_t, int64_t> best_key;
  for (const auto& [id, a] : agents_) {
    if (!a->serves() || a->claim != nullptr || !could_ever_fit(ask, *a)) continue;
    if (is_filtered(*ask.leaf, *a, now)) continue;
    const ResourceVector missing = (ask.ask.shape - a->free.amounts).max(ResourceVector());
    const std::pair key(fair::weighted(missing, total_), -fair::weighted(a->free.amounts, total_));
    if (best != nullptr && best_key <= key) continue;
    best = a.get();
    best_key = key;
  }
  return best;
}

bool Allocator::State::claim(AskEntry& ask, Time now) {
  Agent* a = claimable_agent(ask, now);
  if (a != nullptr) {
    hold_for(ask, *a, ++claims_, now);
    return true;
  }
  // Not looked at again until something that counts has changed.
  ask.claim_tried = claimable_version_;
  if (std::none_of(agents_.begin(), agents_.end(), [&](const auto& any) {
        return any.second->serves() && could_ever_fit(ask, *any.second);
      })) {
    ask.hopeless_at = agents_version_;
  }
  return false;
}

void Allocator::State::hold_for(AskEntry& ask, Agent& a, uint64_t order, Time now) {
  free_.erase(a);
  a.claim = &ask;
  free_.insert(a, total_);  // It is not: what is free there is set aside.
  ask.claim = &a;
  ask.claim_order = order;
  ask.claim_growths = a.growths;
  ask.claim_stuck = false;
  ask.leaf->claimed = &ask;
  due_.erase(&ask);
  claimed_.emplace(order, &ask);
  ++claimable_version_;
  set_timer(ask, later(now, std::max(options_.claim_after, kClaimReviewMin)));
}

void Allocator::State::drop_claim(AskEntry& ask) {
  Agent& a = *ask.claim;
  a.claim = nullptr;
  ask.claim = nullptr;
  ask.leaf->claimed = nullptr;
  claimed_.erase(ask.claim_order);
  set_timer(ask, std::nullopt);
  if (ask.due) due_.insert(&ask);
  ++claimable_version_;
  refresh(a, true);
  thaw(true);  // Others may use what was set aside, in this decision if one is being made.
}

void Allocator::State::start_waiting(Leaf& l, Time now) {
  for (AskEntry* ask : l.order) {
    if (ask->unmet() == 0 || ask->due || ask->timer) continue;
    ask->waiting_since = now;
    set_timer(*ask, later(now, options_.claim_after));
  }
}

// It is met, gone, or not wanted for now.
void Allocator::State::stop_waiting(AskEntry& ask) {
  if (ask.claim != nullptr) drop_claim(ask);
  while (!ask.reclaims.empty()) end_reclaim(**ask.reclaims.begin());
  set_timer(ask, std::nullopt);
  ask.due = false;
  due_.erase(&ask);
}

void Allocator::State::set_timer(AskEntry& ask, std::optional<Time> at) {
  if (ask.timer) ask_timers_.erase({*ask.timer, &ask});
  ask.timer = at;
  if (at) ask_timers_.insert({*at, &ask});
}

void Allocator::State::fire_claim_timers(Time now) {
  while (!ask_timers_.empty() && ask_timers_.begin()->at <= now) {
    AskEntry& ask = *ask_timers_.begin()->ask;
    if (ask.claim == nullptr) {
      // Its last grant may have been later than when the timer was set.
      const Time at = later(ask.waiting_since, options_.claim_after);
      if (at > now) {
        set_timer(ask, at);
        continue;
      }
      set_timer(ask, std::nullopt);
      ask.due = true;
      due_.insert(&ask);
      continue;
    }
    Agent* const other =
        ask.claim->growths == ask.claim_growths ? claimable_agent(ask, now) : nullptr;
    if (other == nullptr) {
      ask.claim_stuck = ask.claim->growths == ask.claim_growths;
      ask.claim_growths = ask.claim->growths;
      set_timer(ask, later(now, std::max(options_.claim_after, kClaimReviewMin)));
      continue;
    }
    const uint64_t order = ask.claim_order;
    drop_claim(ask);
    hold_for(ask, *other, order, now);
    // What ended since the last decision may be enough there already.
    update_hunger(*ask.leaf, true);
  }
}

}  // namespace proffer
