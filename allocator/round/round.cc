// The phases of a decision. Begin with decide().

#include "allocator/round/round.h"

#include <algorithm>
#include <utility>

#include "allocator/rules/lags.h"

namespace proffer::fair {

Decision Round::decide() {
  cluster_.catch_up();
  let_time_pass();
  take_back_estimates(cluster_, now_);
  const auto take_back = [&] {
    if (take_back_lent(cluster_, waiting_.claims, now_)) return true;
    if (waiting_.unanswered.rescind(now_)) {
      record_.given.clear();  // Before that, limits denied some leaves what they may have now.
      return true;
    }
    const auto claims = [&] { return waiting_.claims.all().size() + cluster_.owed.size(); };
    const size_t before = claims();
    const bool is_more = waiting_.reclaims.reclaim(now_);
    if (claims() < before) thaw(true);
    return is_more;
  };
  do {
    do {
      uint64_t before = 0;
      do {
        before = grants_made_;
        fill_asks();
      } while (less_is_held(before) || less_is_withheld() || fill_open() || less_is_withheld());
      waiting_.claims.assign(first_with_due_, waiting_.reclaims, waiting_.gate, now_);
    } while (take_back());
  } while (lend() && (!cluster_.held_back.empty() || !cluster_.free_agents.fresh().empty()));

  Decision decision;
  decision.rescinds = std::exchange(cluster_.rescinds, {});
  decision.revokes = std::exchange(cluster_.revokes, {});
  decision.grants = make_offers();
  cluster_.remove_doubtful(now_);  // The leaf of a rescinded offer may be unneeded.
  waiting_.gate.close(now_);
  note_lags(cluster_, now_);
  cluster_.free_agents.clear_fresh();
  cluster_.clear_grown();
  cluster_.vacated.clear();
  cluster_.dirty = false;
  cluster_.decided_at = now_;
  return decision;
}

void Round::let_time_pass() {
  end_leases();
  waiting_.unanswered.let_time_pass(now_);
  cluster_.end_filters(now_);
  for (AskEntry* ask : cluster_.fire_alarms(now_)) waiting_.stop(*ask);
  cluster_.note_runs(now_);
  waiting_.withheld.review(now_);
  waiting_.reclaims.note_ends(now_);
  waiting_.gate.review(now_);
  waiting_.claims.review(now_);
  waiting_.headroom.review(now_);
  waiting_.reclaims.end_idle(now_);
  cluster_.remove_doubtful(now_);
  cluster_.wake_denied();
}

// After an expired lease the scheduler is offered the agent only a little later, so that a dead
// scheduler does not keep resources that others need.
void Round::end_leases() {
  while (const auto next = cluster_.outstanding.first_to_expire()) {
    if (next->first > now_) break;
    const OutstandingOffer* offer = cluster_.outstanding.find(next->second);
    Leaf& l = *offer->leaf;
    Agent& a = *offer->agent;
    for (const AskFill& fill : offer->grant->offer.fills) {
      const auto ask = l.owner->asks.find(fill.ask);
      if (ask == l.owner->asks.end()) continue;
      cluster_.note_answer(*ask->second, fill.count, 0);
      waiting_.reclaims.note_answer(*ask->second, fill.count, 0);
    }
    const bool is_open = offer->grant->offer.fills.empty();
    cluster_.rescind(next->second, RescindReason::kExpired);
    cluster_.note_unused(*l.owner, now_);
    if (is_open) waiting_.note_open_expiry(l);
    Filter filter;
    filter.until = now_ + kDeclineFilter;
    cluster_.add_filter(l, a, std::move(filter));
    waiting_.refuse(*l.owner, a);
  }
}

// Without reclaim, the amounts held for a guarantee fall when a reservation serves it: then others
// may have more. Returns whether leaves must look again after these grants.
bool Round::less_is_held(uint64_t grants_before) {
  if (cluster_.options.reclaim != ReclaimMode::kOff || grants_made_ == grants_before) return false;
  if (cluster_.held_back.empty()) return false;
  cluster_.wake_held_back();
  return true;
}

// What is withheld for a role falls as the role uses it elsewhere: then others may have more.
bool Round::less_is_withheld() {
  const bool is_less = waiting_.withheld.review(now_);
  if (is_less) thaw(true);
  return is_less;
}

void Round::thaw(bool more_is_free) {
  // More free resources than at the time of the freeze mean that less is held for guarantees.
  for (Leaf* l : frozen_) {
    cluster_.update_demand(*l, more_is_free && cluster_.held_back.count(l) > 0);
  }
  frozen_.clear();
  turns_.forget_beyond();
  if (owed_only_) ask_withheld();
}

size_t& Round::DraftTable::place_of(const std::vector<Draft>& drafts, const Leaf& leaf,
                                    const Agent& agent, uint64_t gang, bool revocable,
                                    Duration max_run_time) {
  constexpr size_t kPlacesMin = 8;
  const auto hash_of = [](const Leaf* l, const Agent* a) {
    const auto number = [](const void* at) { return reinterpret_cast<uintptr_t>(at) / 64; };
    const uint64_t hash = number(l) * 0x9e3779b97f4a7c15u ^ number(a) * 0xff51afd7ed558ccdu;
    return static_cast<size_t>(hash ^ (hash >> 32));
  };
  if (places_.size() < 2 * (drafts.size() + 1)) {
    places_.assign(std::max(kPlacesMin, places_.size() * 2), kNone);
    for (size_t i = 0; i < drafts.size(); ++i) {
      size_t at = hash_of(drafts[i].leaf, drafts[i].agent) & (places_.size() - 1);
      while (places_[at] != kNone) at = (at + 1) & (places_.size() - 1);
      places_[at] = i;
    }
  }
  size_t at = hash_of(&leaf, &agent) & (places_.size() - 1);
  for (; places_[at] != kNone; at = (at + 1) & (places_.size() - 1)) {
    const Draft& draft = drafts[places_[at]];
    if (draft.leaf == &leaf && draft.agent == &agent && draft.gang == gang &&
        draft.revocable == revocable && draft.max_run_time == max_run_time) {
      break;
    }
  }
  return places_[at];
}

std::vector<SharedGrant> Round::make_offers() {
  std::vector<SharedGrant> grants;
  grants.reserve(drafts_.size());
  cluster_.offers_before = cluster_.outstanding.last_id();
  for (Draft& draft : drafts_) {
    const Duration lease = cluster_.lease_of(*draft.leaf);
    Booked booked = draft.agent->book(draft.slices);
    if (draft.max_run_time > Duration()) booked.lent = true;
    Grant grant;
    grant.offer.id = cluster_.outstanding.next_id();
    grant.offer.agent = draft.agent->id;
    grant.offer.attributes = draft.agent->attributes;
    grant.offer.slices = std::move(draft.slices);
    grant.offer.gang = draft.gang;
    grant.offer.max_run_time = draft.max_run_time;
    grant.offer.fills = std::move(draft.fills);
    grant.offer.ports = draft.agent->free_ports;
    grant.offer.lease = lease;
    grant.offer.role = draft.leaf->role->name;
    grant.framework = draft.leaf->framework;
    grant.role = draft.leaf->role->name;
    grant.expires = later(now_, lease);
    const SharedGrant& shared = grants.emplace_back(std::move(grant));
    OutstandingOffer offer{std::move(booked), shared};
    offer.leaf = draft.leaf;
    offer.agent = draft.agent;
    offer.ports = draft.ports;
    offer.free_then = offer.resources.amounts;
    if (!draft.in_proportion) offer.free_then += draft.agent->counted_free().amounts;
    cluster_.outstanding.add(std::move(offer));
  }
  return grants;
}

}  // namespace proffer::fair
