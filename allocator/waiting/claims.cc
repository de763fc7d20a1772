// Claims: assign() first. What they are for is told in claims.h.

#include "allocator/waiting/claims.h"

#include <algorithm>
#include <tuple>

#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"
#include "allocator/waiting/gate.h"
#include "allocator/waiting/reclaims.h"
#include "common/text.h"

namespace proffer::fair {
namespace {

// However short claim_after is, a claim stays at least so long where nothing becomes free.
constexpr Duration kClaimReviewMin = seconds(1);

// Whether who has `rank` comes after who has `other` by share. Where their ways part the deeper one
// may be level with the other: what it has further down says nothing then.
bool is_behind(const Rank& rank, const Rank& other) {
  const size_t depth = std::min(rank.depth(), other.depth());
  for (size_t i = 0; i < depth; ++i) {
    if (rank[i] != other[i]) return rank[i] > other[i];
  }
  return false;
}

}  // namespace

bool Claims::Timer::operator<(const Timer& o) const {
  return std::tie(at, ask->leaf->framework, ask->ask.name) <
         std::tie(o.at, o.ask->leaf->framework, o.ask->ask.name);
}

void Claims::assign(const FirstWithDue& first_with_due, const Reclaims& reclaims, Gate& gate,
                    Time now) {
  if (due_.empty() || cluster_.options.naive.no_claims) return;
  std::optional<Rank> barrier;
  const auto visit = [&](Leaf& l) {
    const Rank rank = rank_of(l);
    if (barrier && is_behind(rank, *barrier)) return false;
    if (l.mode == OfferMode::kOpen) return true;
    if (const AskEntry* claimed = claimed_in(l)) {
      // Who is behind waits for it, unless there is no telling how long.
      if (!barrier && !waits_[*claimed].stuck) barrier = rank;
      return true;
    }
    AskEntry* ask = claimable_ask(l, reclaims, gate, now);
    const bool has_claim = ask != nullptr && claim(*ask, now);
    if (!barrier && (has_claim || may_be_served_later(l, now))) barrier = rank;
    return !due_.empty();
  };
  cluster_.demanding.for_each(visit);
  // Who was first when it was its turn has the right too, even if it was given something smaller.
  for (const auto& [l, rank] : first_with_due) {
    if (barrier && is_behind(rank, *barrier)) continue;
    if (claimed_in(*l) != nullptr || !cluster_.demanding.contains(*l)) continue;
    if (AskEntry* ask = claimable_ask(*l, reclaims, gate, now)) claim(*ask, now);
  }
}

// The leaf's first ask by priority that has waited long enough and for which there may be an agent.
AskEntry* Claims::claimable_ask(const Leaf& l, const Reclaims& reclaims, Gate& gate,
                                Time now) const {
  for (AskEntry* ask : l.order) {
    if (ask->unmet() <= reclaims.coming(*ask) || ask->only_preferred(now)) continue;
    if (!is_due(*ask) || ask->hopeless_at == cluster_.agents_version) continue;
    if (!denial(cluster_, *ask).is_none()) continue;
    if (waits_[*ask].tried == cluster_.claimable_version) continue;
    // Nobody is served by a claim beyond its entitlement while others are below theirs.
    if (gate.is_owed(*ask, now) || !gate.is_another_owed(l, now)) return ask;
  }
  return nullptr;
}

// Whether a leaf without a claim is still to be served before those behind it: it has an ask that
// waits and that some agent fits that it does not refuse. Who waits for where it would rather be
// holds nobody back.
bool Claims::may_be_served_later(const Leaf& l, Time now) const {
  return std::any_of(l.order.begin(), l.order.end(), [&](const AskEntry* ask) {
    if (ask->unmet() == 0 || is_due(*ask) || ask->only_preferred(now)) return false;
    if (!denial(cluster_, *ask).is_none()) return false;
    if (ask->ask.gang > 1 && !could_ever_be_met(cluster_, *ask, true)) return false;
    return std::any_of(cluster_.agents.begin(), cluster_.agents.end(), [&](const auto& a) {
      return a.second->serves() && could_ever_fit(*ask, *a.second) &&
             !is_filtered(l, *a.second, now);
    });
  });
}

// Agents that are enough for one gang together: the kept ones, then those that need the least to
// become free; of equals, the one with most free, then by id. Nothing if there are not enough.
// O(agents log agents).
std::vector<Agent*> Claims::claimable_agents(const AskEntry& ask, std::vector<Agent*> kept,
                                             Time now) const {
  struct Claimable {
    int64_t missing = 0;
    int64_t minus_free = 0;
    Agent* agent = nullptr;
    int64_t capacity = 0;
  };
  std::vector<Seat> places;
  for (Agent* a : kept) places.push_back({a, capacity(ask, *a)});
  if (fill_places(ask.ask, ask.counts, ask.ask.gang, places) == ask.ask.gang) return kept;
  std::vector<Claimable> candidates;
  for (const auto& [id, a] : cluster_.agents) {
    if (!a->serves() || a->claimant != nullptr || !could_ever_fit(ask, *a)) continue;
    if (is_filtered(*ask.leaf, *a, now) || ask.counts.room(ask.ask, *a, 1) == 0) continue;
    ResourceVector free = a->free.amounts;
    if (!a->parts.empty()) {
      free = {};
      for (const Slice& slice : a->usable(ask.leaf->role->name)) free += slice.resources.amounts;
    }
    Claimable candidate{.agent = a.get(), .capacity = capacity(ask, *a)};
    const ResourceVector wanted = ask.ask.shape * candidate.capacity;
    candidate.missing =
        weighted((wanted - free).max(ResourceVector()), cluster_.total) / candidate.capacity;
    candidate.minus_free = -weighted(free, cluster_.total);
    candidates.push_back(candidate);
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return std::tie(a.missing, a.minus_free) < std::tie(b.missing, b.minus_free);
  });
  for (const Claimable& candidate : candidates) {
    places.push_back({candidate.agent, candidate.capacity});
  }
  if (fill_places(ask.ask, ask.counts, ask.ask.gang, places) < ask.ask.gang) return {};
  for (size_t i = kept.size(); i < places.size(); ++i) {
    if (places[i].count > 0) kept.push_back(places[i].agent);
  }
  return kept;
}

bool Claims::claim(AskEntry& ask, Time now) {
  const std::vector<Agent*> agents = claimable_agents(ask, {}, now);
  if (!agents.empty()) {
    hold_for(ask, agents, ++claims_, now);
    return true;
  }
  // Not looked at again until something that counts has changed.
  waits_[ask].tried = cluster_.claimable_version;
  if (!could_ever_be_met(cluster_, ask, true)) ask.hopeless_at = cluster_.agents_version;
  return false;
}

void Claims::hold_for(AskEntry& ask, const std::vector<Agent*>& agents, uint64_t order, Time now) {
  Wait& wait = waits_[ask];
  for (Agent* a : agents) {
    cluster_.set_aside(*a, ask, false);
    wait.claim.push_back({a, a->growths});
  }
  wait.order = order;
  wait.stuck = false;
  due_.erase(&ask);
  claimed_.emplace(order, &ask);
  ++cluster_.claimable_version;
  set_timer(ask, later(now, std::max(cluster_.options.claim_after, kClaimReviewMin)));
}

void Claims::drop(AskEntry& ask) {
  Wait& wait = waits_[ask];
  const std::vector<Claimed> agents = std::move(wait.claim);
  wait.claim.clear();
  for (const Claimed& claimed : agents) cluster_.end_set_aside(*claimed.agent);
  claimed_.erase(wait.order);
  set_timer(ask, std::nullopt);
  if (wait.due) due_.insert(&ask);
  ++cluster_.claimable_version;
  for (const Claimed& claimed : agents) cluster_.refresh(*claimed.agent, true);
}

void Claims::start_waiting(Leaf& l, Time now) {
  for (AskEntry* ask : l.order) {
    if (ask->unmet() == 0) continue;
    Wait& wait = waits_[*ask];
    if (wait.due || wait.timer) continue;
    wait.since = now;
    set_timer(*ask, later(now, cluster_.options.claim_after));
  }
}

void Claims::wait_anew(AskEntry& ask, Time now) {
  Wait& wait = waits_[ask];
  wait.since = now;
  wait.due = false;
  due_.erase(&ask);
}

bool Claims::stop_waiting(AskEntry& ask) {
  Wait& wait = waits_[ask];
  const bool had_claim = !wait.claim.empty();
  if (had_claim) drop(ask);
  set_timer(ask, std::nullopt);
  wait.due = false;
  due_.erase(&ask);
  return had_claim;
}

void Claims::set_timer(AskEntry& ask, std::optional<Time> at) {
  Wait& wait = waits_[ask];
  if (wait.timer) timers_.erase({*wait.timer, &ask});
  wait.timer = at;
  if (at) timers_.insert({*at, &ask});
}

void Claims::fire_timers(Time now) {
  while (!timers_.empty() && timers_.begin()->at <= now) {
    AskEntry& ask = *timers_.begin()->ask;
    Wait& wait = waits_[ask];
    if (!wait.claim.empty()) {
      review(ask, now);
      continue;
    }
    // Its last grant may have been later than when the timer was set.
    const Time at = later(wait.since, cluster_.options.claim_after);
    if (at > now) {
      set_timer(ask, at);
      continue;
    }
    set_timer(ask, std::nullopt);
    wait.due = true;
    due_.insert(&ask);
  }
}

// Agents on which nothing has become free since the last review are exchanged, if others will do.
// Who is denied by now (from borrowing more, say) holds nothing from others, unless it is a limit
// below which room is kept for it too.
void Claims::review(AskEntry& ask, Time now) {
  if (!ask.has_headroom() && !denial(cluster_, ask).is_none()) return drop(ask);
  Wait& wait = waits_[ask];
  std::vector<Agent*> kept;
  for (const Claimed& claimed : wait.claim) {
    const Agent& a = *claimed.agent;
    const bool is_enough = room_for(ask, a, capacity(ask, a)) == capacity(ask, a);
    if (is_enough || a.growths != claimed.growths) kept.push_back(claimed.agent);
  }
  const bool is_stuck = kept.size() < wait.claim.size();
  const std::vector<Agent*> agents =
      is_stuck ? claimable_agents(ask, std::move(kept), now) : std::vector<Agent*>();
  if (agents.empty()) {
    wait.stuck = is_stuck;
    for (Claimed& claimed : wait.claim) claimed.growths = claimed.agent->growths;
    set_timer(ask, later(now, std::max(cluster_.options.claim_after, kClaimReviewMin)));
    return;
  }
  const uint64_t order = wait.order;
  drop(ask);
  hold_for(ask, agents, order, now);
  // What ended since the last decision may be enough there already.
  cluster_.update_demand(*ask.leaf, true);
}

// --- questions ----------------------------------------------------------------------------------

std::vector<Agent*> Claims::agents_of(const AskEntry& ask) const {
  std::vector<Agent*> agents;
  for (const Claimed& claimed : waits_[ask].claim) agents.push_back(claimed.agent);
  return agents;
}

AskEntry* Claims::claimed_in(const Leaf& l) const {
  const auto at = std::find_if(l.order.begin(), l.order.end(),
                               [&](const AskEntry* ask) { return has_claim(*ask); });
  return at == l.order.end() ? nullptr : *at;
}

std::optional<Time> Claims::next_deadline() const {
  return timers_.empty() ? std::nullopt : std::optional(timers_.begin()->at);
}

void Claims::check(std::vector<Violation>& found) const {
  const auto wrong = [&](const Agent& a, const std::string& what) {
    found.push_back({text("agent ", a.id.str(), ": ", what)});
  };
  for (const auto& [id, a] : cluster_.agents) {
    if (a->claimant == nullptr || a->by_notice || !a->keep.is_zero()) continue;
    const AskEntry& ask = *a->claimant;
    const Wait& wait = waits_[ask];
    const bool is_mutual =
        std::any_of(wait.claim.begin(), wait.claim.end(),
                    [&, on = a.get()](const Claimed& one) { return one.agent == on; }) &&
        claimed_in(*ask.leaf) == &ask && claimed_.count(wait.order) == 1 &&
        claimed_.at(wait.order) == &ask;
    if (!is_mutual) wrong(*a, "its claim is noted on one side only");
    if (!cluster_.dirty && denial(cluster_, ask).is_none() &&
        fits_now(cluster_, ask, *a, cluster_.decided_at)) {
      wrong(*a, "its claimant fits and was not served");
    }
  }
}

}  // namespace proffer::fair
