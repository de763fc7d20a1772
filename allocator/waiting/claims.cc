// Nobody starves. An ask that has waited for claim_after and whose leaf is first by share gets a
// claim: an agent, or for a gang as many as it needs, on which what becomes free is set aside until
// the ask fits. assign_claims() first.
//
// A claim has all its agents at once and each agent has one claim, so a later claim takes nothing
// of an earlier one: two gangs that each could hold half of what they need do not wait for each
// other. One claim per leaf. A claim stays where it is while things become free there; an agent of
// it where nothing does for claim_after, and that is not enough already, is exchanged for another:
// tasks that never end must not decide who is served. What is set aside is lent meanwhile:
// lending.cc.

#include <algorithm>
#include <tuple>

#include "allocator/state.h"

namespace proffer {
namespace {

// However short claim_after is, a claim stays at least so long where nothing becomes free.
constexpr Duration kClaimReviewMin = seconds(1);

// Whether who has `rank` comes after who has `other` by share. Where their ways part the deeper one
// may be level with the other: what it has further down says nothing then.
bool is_behind(const fair::Rank& rank, const fair::Rank& other) {
  const size_t depth = std::min(rank.depth(), other.depth());
  for (size_t i = 0; i < depth; ++i) {
    if (rank[i] != other[i]) return rank[i] > other[i];
  }
  return false;
}

}  // namespace

bool Allocator::State::AskTimer::operator<(const AskTimer& o) const {
  return std::tie(at, ask->leaf->framework, ask->ask.name) <
         std::tie(o.at, o.ask->leaf->framework, o.ask->ask.name);
}

// At the end of a decision. Leaves in order of share, until one comes first that could be served
// without a claim, or has one already: who has more waits for it. Of equals each may have one.
void Allocator::State::assign_claims(Time now) {
  if (due_.empty() || options_.naive.no_claims) return;
  std::optional<Rank> barrier;
  const auto visit = [&](Leaf& l) {
    const Rank rank = rank_of(l, hungry_);
    if (barrier && is_behind(rank, *barrier)) return false;
    if (l.mode == OfferMode::kOpen) return true;
    if (l.claimed != nullptr) {
      // Who is behind waits for it, unless there is no telling how long.
      if (!barrier && !l.claimed->claim_stuck) barrier = rank;
      return true;
    }
    AskEntry* ask = claimable_ask(l, now);
    const bool has_claim = ask != nullptr && claim(*ask, now);
    if (!barrier && (has_claim || may_be_served_later(l, now))) barrier = rank;
    return !due_.empty();
  };
  hungry_.for_each(visit);
  // Who was first when it was its turn has the right too, even if it was given something smaller.
  for (const auto& [l, rank] : least_with_due_) {
    if (barrier && is_behind(rank, *barrier)) continue;
    if (l->claimed != nullptr || !hungry_.contains(*l)) continue;
    if (AskEntry* ask = claimable_ask(*l, now)) claim(*ask, now);
  }
}

// The leaf's first ask by priority that has waited long enough and for which there may be an agent.
fair::AskEntry* Allocator::State::claimable_ask(Leaf& l, Time now) const {
  for (AskEntry* ask : l.order) {
    if (ask->unmet() <= ask->reclaiming || ask->only_preferred(now)) continue;
    if (!ask->due || ask->hopeless_at == agents_version_) continue;
    if (!barred(*ask).is_none()) continue;
    if (ask->claim_tried != claimable_version_) return ask;
  }
  return nullptr;
}

// Whether a leaf without a claim is still to be served before those behind it: it has an ask that
// waits and that some agent fits that it does not refuse. Who waits for where it would rather be
// holds nobody back.
bool Allocator::State::may_be_served_later(const Leaf& l, Time now) const {
  return std::any_of(l.order.begin(), l.order.end(), [&](const AskEntry* ask) {
    if (ask->unmet() == 0 || ask->due || ask->only_preferred(now)) return false;
    if (!barred(*ask).is_none()) return false;
    if (ask->ask.gang > 1 && !could_ever_be_met(*ask, true)) return false;
    return std::any_of(agents_.begin(), agents_.end(), [&](const auto& a) {
      return a.second->serves() && could_ever_fit(*ask, *a.second) &&
             !is_filtered(l, *a.second, now);
    });
  });
}

bool Allocator::State::could_ever_fit(const AskEntry& ask, const Agent& a) const {
  if (a.ports.size() < ask.ask.ports || !ask.matches(a)) return false;
  if (a.parts.empty()) return fits(ask.ask.shape, a.total);
  std::vector<Slice> all = a.usable_total(ask.leaf->role->name);
  return take(ask.ask.shape, all).has_value();
}

// How many tasks of one gang fit there if it is empty. The ask could_ever_fit() there.
int64_t Allocator::State::capacity(const AskEntry& ask, const Agent& a) const {
  int64_t most = ask.ask.gang;
  if (most == 1) return 1;
  if (ask.ask.ports > 0) most = std::min(most, a.ports.size() / ask.ask.ports);
  if (a.parts.empty()) return count_that_fits(ask.ask.shape, a.total, most);
  std::vector<Slice> all = a.usable_total(ask.leaf->role->name);
  int64_t count = 0;
  while (count < most && take(ask.ask.shape, all)) ++count;
  return count;
}

// Whether a gang of it fits on the agents if they were empty. O(agents).
bool Allocator::State::could_ever_be_met(const AskEntry& ask, bool only_serving) const {
  const fair::TaskCounts none(ask.ask);
  fair::TaskCounts counts = none;
  int64_t room = 0;
  std::vector<fair::Seat> places;
  for (const auto& [id, a] : agents_) {
    if ((only_serving && !a->serves()) || !could_ever_fit(ask, *a)) continue;
    const int64_t most = capacity(ask, *a);
    const int64_t here = counts.room(ask.ask, *a, most);
    counts.add(*a, here);
    room += here;
    if (room >= ask.ask.gang) return true;
    places.push_back({a.get(), most});
  }
  return fair::fill_places(ask.ask, none, ask.ask.gang, places) == ask.ask.gang;
}

// The same of those that may be offered, remembered while these are the same.
bool Allocator::State::could_be_served(const AskEntry& ask) const {
  if (ask.servable_at != agents_version_) {
    ask.servable = could_ever_be_met(ask, true);
    ask.servable_at = agents_version_;
  }
  return ask.servable;
}

// Agents that are enough for one gang together: the kept ones, then those that need the least to
// become free; of equals, the one with most free, then by id. Nothing if there are not enough.
// O(agents log agents).
std::vector<fair::Agent*> Allocator::State::claimable_agents(const AskEntry& ask,
                                                             std::vector<Agent*> kept,
                                                             Time now) const {
  struct Candidate {
    int64_t missing = 0;
    int64_t minus_free = 0;
    Agent* agent = nullptr;
    int64_t capacity = 0;
  };
  std::vector<fair::Seat> places;
  for (Agent* a : kept) places.push_back({a, capacity(ask, *a)});
  if (fair::fill_places(ask.ask, ask.counts, ask.ask.gang, places) == ask.ask.gang) return kept;
  std::vector<Candidate> candidates;
  for (const auto& [id, a] : agents_) {
    if (!a->serves() || a->claim != nullptr || !could_ever_fit(ask, *a)) continue;
    if (is_filtered(*ask.leaf, *a, now) || ask.counts.room(ask.ask, *a, 1) == 0) continue;
    ResourceVector free = a->free.amounts;
    if (!a->parts.empty()) {
      free = {};
      for (const Slice& slice : a->usable(ask.leaf->role->name)) free += slice.resources.amounts;
    }
    Candidate candidate{.agent = a.get(), .capacity = capacity(ask, *a)};
    const ResourceVector wanted = ask.ask.shape * candidate.capacity;
    candidate.missing =
        fair::weighted((wanted - free).max(ResourceVector()), total_) / candidate.capacity;
    candidate.minus_free = -fair::weighted(free, total_);
    candidates.push_back(candidate);
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return std::tie(a.missing, a.minus_free) < std::tie(b.missing, b.minus_free);
  });
  for (const Candidate& candidate : candidates) {
    places.push_back({candidate.agent, candidate.capacity});
  }
  if (fair::fill_places(ask.ask, ask.counts, ask.ask.gang, places) < ask.ask.gang) return {};
  for (size_t i = kept.size(); i < places.size(); ++i) {
    if (places[i].count > 0) kept.push_back(places[i].agent);
  }
  return kept;
}

bool Allocator::State::claim(AskEntry& ask, Time now) {
  const std::vector<Agent*> agents = claimable_agents(ask, {}, now);
  if (!agents.empty()) {
    hold_for(ask, agents, ++claims_, now);
    return true;
  }
  // Not looked at again until something that counts has changed.
  ask.claim_tried = claimable_version_;
  if (!could_ever_be_met(ask, true)) ask.hopeless_at = agents_version_;
  return false;
}

void Allocator::State::hold_for(AskEntry& ask, const std::vector<Agent*>& agents, uint64_t order,
                                Time now) {
  for (Agent* a : agents) {
    free_.erase(*a);
    a->claim = &ask;
    free_.insert(*a, total_);  // It is not: what is free there is set aside.
    ask.claim.push_back({a, a->growths});
  }
  ask.claim_order = order;
  ask.claim_stuck = false;
  ask.leaf->claimed = &ask;
  due_.erase(&ask);
  claimed_.emplace(order, &ask);
  ++claimable_version_;
  set_timer(ask, later(now, std::max(options_.claim_after, kClaimReviewMin)));
}

void Allocator::State::drop_claim(AskEntry& ask) {
  const std::vector<fair::Claimed> agents = std::move(ask.claim);
  ask.claim.clear();
  for (const fair::Claimed& claimed : agents) claimed.agent->claim = nullptr;
  ask.leaf->claimed = nullptr;
  claimed_.erase(ask.claim_order);
  set_timer(ask, std::nullopt);
  if (ask.due) due_.insert(&ask);
  ++claimable_version_;
  for (const fair::Claimed& claimed : agents) refresh(*claimed.agent, true);
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
  if (!ask.claim.empty()) drop_claim(ask);
  if (!ask.headroom.empty()) drop_headroom(ask);
  while (!ask.reclaims.empty()) end_reclaim(**ask.reclaims.begin(), ask);
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
    if (!ask.claim.empty()) {
      review_claim(ask, now);
      continue;
    }
    // Its last grant may have been later than when the timer was set.
    const Time at = later(ask.waiting_since, options_.claim_after);
    if (at > now) {
      set_timer(ask, at);
      continue;
    }
    set_timer(ask, std::nullopt);
    ask.due = true;
    due_.insert(&ask);
  }
}

// Agents on which nothing has become free since the last review are exchanged, if others will do.
// Who is barred by now (from borrowing more, say) holds nothing from others, unless it is a limit
// below which room is kept for it too.
void Allocator::State::review_claim(AskEntry& ask, Time now) {
  if (ask.headroom.empty() && !barred(ask).is_none()) return drop_claim(ask);
  std::vector<Agent*> kept;
  for (const fair::Claimed& claimed : ask.claim) {
    const Agent& a = *claimed.agent;
    const bool is_enough = room_for(ask, a, capacity(ask, a)) == capacity(ask, a);
    if (is_enough || a.growths != claimed.growths) kept.push_back(claimed.agent);
  }
  const bool is_stuck = kept.size() < ask.claim.size();
  const std::vector<Agent*> agents =
      is_stuck ? claimable_agents(ask, std::move(kept), now) : std::vector<Agent*>();
  if (agents.empty()) {
    ask.claim_stuck = is_stuck;
    for (fair::Claimed& claimed : ask.claim) claimed.growths = claimed.agent->growths;
    set_timer(ask, later(now, std::max(options_.claim_after, kClaimReviewMin)));
    return;
  }
  const uint64_t order = ask.claim_order;
  drop_claim(ask);
  hold_for(ask, agents, order, now);
  // What ended since the last decision may be enough there already.
  update_hunger(*ask.leaf, true);
}

}  // namespace proffer
