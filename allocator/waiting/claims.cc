// Claims; claims.h explains their purpose. Begin with assign().

#include "allocator/waiting/claims.h"

#include <algorithm>
#include <tuple>

#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"
#include "allocator/rules/prospect.h"
#include "allocator/waiting/gate.h"
#include "allocator/waiting/holds.h"
#include "allocator/waiting/reclaims.h"
#include "common/text.h"

namespace proffer::fair {
namespace {

// The longest hold in vain of a claim on tasks that are expected to end.
constexpr Duration kClaimHoldMax = hours(24);

// Whether a leaf with `rank` comes after one with `other` by share. Where their paths part, the
// deeper one may equal the other: then its lower levels say nothing.
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
      // Later leaves wait for it, unless its wait has no known end.
      if (!barrier && !waits_[*claimed].is_stuck) barrier = rank;
      return true;
    }
    AskEntry* ask = claimable_ask(l, reclaims, gate, now);
    const bool has_claim = ask != nullptr && claim(*ask, now);
    if (!barrier && (has_claim || may_be_served_later(l, now))) barrier = rank;
    return !due_.empty();
  };
  cluster_.demanding.for_each(visit);
  // A leaf that was first on its turn has the right too, even if it got a smaller ask served.
  for (const auto& [l, rank] : first_with_due) {
    if (barrier && is_behind(rank, *barrier)) continue;
    if (claimed_in(*l) != nullptr || !cluster_.demanding.contains(*l)) continue;
    if (AskEntry* ask = claimable_ask(*l, reclaims, gate, now)) claim(*ask, now);
  }
}

// The leaf's first ask by priority that has waited long enough and that some agent may fit.
AskEntry* Claims::claimable_ask(const Leaf& l, const Reclaims& reclaims, Gate& gate,
                                Time now) const {
  for (AskEntry* ask : l.order) {
    if (ask->is_refused) continue;
    if (ask->unmet() <= reclaims.coming(*ask) || ask->only_preferred(now)) continue;
    if (!is_due(*ask) || ask->hopeless_at == cluster_.agents_version) continue;
    if (!denial(cluster_, *ask).is_none()) continue;
    if (waits_[*ask].tried == cluster_.claimable_version) continue;
    // An ask gets no claim beyond its entitlement while others are below theirs.
    if (gate.is_owed(*ask, now) || !gate.is_another_owed(l, now)) return ask;
  }
  return nullptr;
}

// Whether a leaf without a claim must be served before the leaves behind it: it has a waiting ask
// that some agent fits, and does not refuse that agent. An ask in its locality wait does not block
// others.
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

// Agents that together suffice for one gang: the kept ones, then those that need the least freed
// resources; among equals the one with most free, then by id. Agents whose tasks are all expected
// to end are tried first. O(agents log agents + tasks).
Claims::Plan Claims::plan(const AskEntry& ask, const std::vector<Agent*>& kept, Time now) const {
  struct Place {
    int64_t unknown = 0;  // amounts that tasks of unknown end must free
    int64_t missing = 0;
    int64_t minus_free = 0;
    Agent* agent = nullptr;
    int64_t tasks = 0;
    Prospect prospect = {};
  };
  Plan found;
  const auto place_on = [&](Agent* a, const Prospect& prospect, int64_t tasks) {
    const ResourceVector wanted = ask.ask.shape * tasks;
    const auto part = [&](const ResourceVector& there) {
      return weighted((wanted - there).max(ResourceVector()), cluster_.total) / tasks;
    };
    return Place{.unknown = part(prospect.free + prospect.to_be_freed),
                 .missing = part(prospect.free),
                 .minus_free = -weighted(prospect.free, cluster_.total),
                 .agent = a,
                 .tasks = tasks,
                 .prospect = prospect};
  };
  std::vector<std::pair<Agent*, Prospect>> prospects;
  for (Agent* a : kept) prospects.emplace_back(a, prospect(ask, *a, now));
  for (const auto& [id, a] : cluster_.agents) {
    if (!a->serves() || a->claimant != nullptr || !could_ever_fit(ask, *a)) continue;
    if (is_filtered(*ask.leaf, *a, now) || ask.counts.room(ask.ask, *a, 1) == 0) continue;
    if (rests(*a, now)) {
      found.again_at = std::min(found.again_at.value_or(a->rests_until), a->rests_until);
      continue;
    }
    prospects.emplace_back(a.get(), prospect(ask, *a, now));
  }
  for (const bool is_expected : {true, false}) {
    if (!is_expected && kept.empty() && !may_speculate(cluster_)) continue;
    std::vector<Place> possible;
    size_t first = 0;
    for (size_t i = 0; i < prospects.size(); ++i) {
      const auto& [a, prospect] = prospects[i];
      const int64_t tasks = is_expected ? prospect.expected : prospect.possible;
      if (tasks > 0) possible.push_back(place_on(a, prospect, tasks));
      if (i < kept.size()) first = possible.size();
    }
    std::stable_sort(possible.begin() + static_cast<std::ptrdiff_t>(first), possible.end(),
                     [](const Place& a, const Place& b) {
                       return std::tie(a.unknown, a.missing, a.minus_free) <
                              std::tie(b.unknown, b.missing, b.minus_free);
                     });
    std::vector<Seat> places;
    for (const Place& place : possible) {
      places.push_back({place.agent, place.tasks});
    }
    if (fill_places(ask.ask, ask.counts, ask.ask.gang, places) < ask.ask.gang) continue;
    for (size_t i = 0; i < possible.size(); ++i) {
      const auto& [agent, room, count] = places[i];
      if (count == 0) continue;
      ResourceVector keep = ask.ask.shape * count;
      if (!is_expected) keep = (keep - possible[i].prospect.to_be_freed).max(ResourceVector());
      if (keep.is_zero()) continue;
      found.on.push_back({.agent = agent, .tasks = count, .keep = keep});
    }
    found.is_expected = is_expected;
    if (!found.on.empty()) return found;
  }
  return found;
}

bool Claims::claim(AskEntry& ask, Time now) {
  const Plan to_hold = plan(ask, {}, now);
  if (!to_hold.on.empty()) {
    hold_for(ask, to_hold, ++claims_, now);
    return true;
  }
  // Not tried again before a relevant change.
  waits_[ask].tried = cluster_.claimable_version;
  set_timer(ask, to_hold.again_at);
  if (!could_ever_be_met(cluster_, ask, true)) ask.hopeless_at = cluster_.agents_version;
  return false;
}

void Claims::hold_for(AskEntry& ask, const Plan& to_hold, uint64_t order, Time now) {
  Wait& wait = waits_[ask];
  for (Claimed claimed : to_hold.on) {
    Agent& a = *claimed.agent;
    if (!a.parts.empty()) claimed.keep = {};
    cluster_.set_aside(a, ask, Purpose::kClaim, claimed.keep);
    claimed.growths = a.growths;
    begin_hold(cluster_, a, !to_hold.is_expected, now);
    wait.claim.push_back(claimed);
  }
  wait.order = order;
  wait.is_expected = to_hold.is_expected;
  wait.is_stuck = !to_hold.is_expected;
  due_.erase(&ask);
  claimed_.emplace(order, &ask);
  ++cluster_.claimable_version;
  set_timer(ask, later(now, hold_of(wait)));
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

bool Claims::note_given(AskEntry& ask, bool stays_due, Time now) {
  Wait& wait = waits_[ask];
  const bool had_claim = !wait.claim.empty();
  if (had_claim) drop(ask);
  wait.hold = {};
  wait.is_stuck = false;
  if (stays_due) return had_claim;
  wait.since = now;
  wait.due = false;
  due_.erase(&ask);
  return had_claim;
}

bool Claims::stop_waiting(AskEntry& ask) {
  Wait& wait = waits_[ask];
  const bool had_claim = !wait.claim.empty();
  if (had_claim) drop(ask);
  set_timer(ask, std::nullopt);
  wait.hold = {};
  wait.is_stuck = false;
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

// --- reviews ------------------------------------------------------------------------------------

void Claims::review(Time now) {
  fire_timers(now);
  review_stuck(now);
}

void Claims::fire_timers(Time now) {
  while (!timers_.empty() && timers_.begin()->at <= now) {
    AskEntry& ask = *timers_.begin()->ask;
    Wait& wait = waits_[ask];
    if (!wait.claim.empty()) {
      review_claim(ask, now);
      continue;
    }
    // Its last grant may be later than the timer's start.
    const Time at = later(wait.since, cluster_.options.claim_after);
    if (at > now) {
      set_timer(ask, at);
      continue;
    }
    set_timer(ask, std::nullopt);
    wait.due = true;
    wait.tried = 0;
    due_.insert(&ask);
  }
}

// A claim that waits for tasks of unknown end keeps all its amounts once the rest is expected to
// end.
void Claims::review_stuck(Time now) {
  std::vector<AskEntry*> grown;
  for (const auto& [order, ask] : claimed_) {
    const Wait& wait = waits_[*ask];
    const bool has_grown =
        !wait.is_expected && std::any_of(wait.claim.begin(), wait.claim.end(),
                                         [&](const auto& on) { return on.agent->is_grown; });
    if (has_grown) grown.push_back(ask);
  }
  for (AskEntry* ask : grown) {
    const Plan better = plan(*ask, agents_of(*ask), now);
    if (!better.is_expected || better.on.empty()) continue;
    const uint64_t order = waits_[*ask].order;
    drop(*ask);
    hold_for(*ask, better, order, now);
    cluster_.update_demand(*ask->leaf, true);
  }
}

// Replaces agents on which nothing has become free since the last review, if others suffice. An ask
// that is denied by now (further borrowing, for example) keeps nothing from others, unless the
// denial is a limit with room kept for the ask.
void Claims::review_claim(AskEntry& ask, Time now) {
  if (!ask.has_headroom() && !denial(cluster_, ask).is_none()) return drop(ask);
  Wait& wait = waits_[ask];
  std::vector<Agent*> kept;
  for (const Claimed& claimed : wait.claim) {
    if (has_progressed(ask, claimed, now)) kept.push_back(claimed.agent);
  }
  if (kept.size() == wait.claim.size()) {
    for (Claimed& claimed : wait.claim) claimed.growths = claimed.agent->growths;
    return set_timer(ask, later(now, hold_of(wait)));
  }
  for (const Claimed& claimed : wait.claim) {
    const bool stays = std::find(kept.begin(), kept.end(), claimed.agent) != kept.end();
    if (!stays) rest_after_hold(*claimed.agent, now);
  }
  wait.hold = std::min(hold_of(wait) * 2, kClaimHoldMax);
  const Plan other = plan(ask, kept, now);
  if (other.on.empty()) return give_up(ask, other.again_at);
  const uint64_t order = wait.order;
  drop(ask);
  hold_for(ask, other, order, now);
  // Resources freed since the last decision may already suffice.
  cluster_.update_demand(*ask.leaf, true);
}

void Claims::give_up(AskEntry& ask, std::optional<Time> again_at) {
  drop(ask);
  Wait& wait = waits_[ask];
  wait.is_stuck = true;
  wait.tried = cluster_.claimable_version;
  set_timer(ask, again_at);
}

// Whether the agent suffices for the claim, or has more than at the last review, or tasks there are
// expected to end.
bool Claims::has_progressed(const AskEntry& ask, const Claimed& claimed, Time now) const {
  Agent& a = *claimed.agent;
  if (room_for(ask, a, claimed.tasks) == claimed.tasks) return true;
  const bool has_grown = claimed.keep.is_zero() ? a.growths != claimed.growths
                                                : !is_in_vain(a, hold_of(waits_[ask]), now);
  return has_grown || prospect(ask, a, now).expected >= claimed.tasks;
}

Duration Claims::hold_of(const Wait& wait) const {
  const Duration hold = std::max(wait.hold, hold_min(cluster_));
  return wait.is_expected ? hold : std::min(hold, hold_max(cluster_));
}

// --- questions ----------------------------------------------------------------------------------

std::vector<Agent*> Claims::agents_of(const AskEntry& ask) const {
  std::vector<Agent*> agents;
  for (const Claimed& claimed : waits_[ask].claim) agents.push_back(claimed.agent);
  return agents;
}

std::optional<Time> Claims::complete_at(const AskEntry& ask, Time now) const {
  std::optional<Time> complete;
  for (const Claimed& claimed : waits_[ask].claim) {
    const auto at = would_fit_at(ask, *claimed.agent, claimed.tasks, now);
    if (!at) return std::nullopt;
    complete = complete ? std::max(*complete, *at) : *at;
  }
  return complete;
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
    if (a->purpose != Purpose::kClaim) continue;
    const AskEntry& ask = *a->claimant;
    const Wait& wait = waits_[ask];
    const bool is_mutual =
        std::any_of(wait.claim.begin(), wait.claim.end(),
                    [&, on = a.get()](const Claimed& one) { return one.agent == on; }) &&
        claimed_in(*ask.leaf) == &ask && claimed_.count(wait.order) == 1 &&
        claimed_.at(wait.order) == &ask;
    if (!is_mutual) wrong(*a, "its claim is recorded on one side only");
    if (!cluster_.dirty && denial(cluster_, ask).is_none() &&
        fits_now(cluster_, ask, *a, cluster_.decided_at)) {
      wrong(*a, "its claimant fits and was not served");
    }
  }
}

}  // namespace proffer::fair
