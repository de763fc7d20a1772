// One decision: what is due by time (leases, filters, waits for claims), then the asks, guarantees
// that are not reached first and then by least share, then open offers of what is left, then what
// is to come back to those who are owed it, then claims for those that starve; at the end what was
// given becomes offers.

#include "allocator/state.h"

namespace proffer {

Allocator::State::State(AllocatorOptions options)
    : options_(std::move(options)),
      role_table_(options_.roles),
      tree_(options_.naive.plain_shares),
      gangs_(options_.gangs_before) {
  const Result<void> checked = check_roles(role_table_);
  CHECK(checked.has_value()) << checked.error().message();
  for (const auto& [role, settings] : role_table_) tree_.set_settings(role, settings);
  shares_dirty_ = true;
}

Decision Allocator::State::decide(Time now) {
  given_.clear();
  wrong_victims_.clear();
  entitlements_known_ = false;
  if (shares_dirty_) rebuild_shares();
  if (least_shape_dirty_) {
    least_shape_.reset();
    some_picky_ = false;
    for (const auto& [id, l] : leaves_) {
      for (const AskEntry* ask : l->order) {
        some_picky_ = some_picky_ || ask->is_picky();
        least_shape_ = least_shape_ ? least_shape_->min(ask->ask.shape) : ask->ask.shape;
      }
    }
    least_shape_dirty_ = false;
  }

  // A scheduler that lets its lease end is asked again a little later, so that a dead one does not
  // keep what others need.
  while (const auto next = outstanding_.first_to_expire()) {
    if (next->first > now) break;
    const fair::OutstandingOffer* offer = outstanding_.find(next->second);
    Leaf& l = *offer->leaf;
    Agent& a = *offer->agent;
    for (const AskFill& fill : offer->grant.offer.fills) {
      const auto ask = l.owner->asks.find(fill.ask);
      if (ask != l.owner->asks.end()) note_answer(*ask->second, fill.count, 0);
    }
    rescind(next->second, RescindReason::kExpired);
    Filter filter;
    filter.until = now + kDeclineFilter;
    add_filter(l, a, std::move(filter));
  }
  end_filters(now);
  fire_alarms(now);
  fire_claim_timers(now);
  review_headroom(now);
  end_idle_reclaims(now);
  remove_doubtful();
  wake_blocked();

  take_back_estimates(now);
  do {
    do {
      uint64_t before = 0;
      do {
        before = gifts_made_;
        fill_asks(now);
      } while (less_is_held(before) || fill_open(now));
      assign_claims(now);
    } while (take_back_lent(now) || reclaim(now));
  } while (lend(now) && !held_back_.empty());

  Decision decision;
  decision.rescinds = std::move(rescinds_);
  rescinds_.clear();
  decision.revokes = std::move(revokes_);
  revokes_.clear();
  decision.grants.reserve(gifts_.size());
  offers_before_ = outstanding_.last_id();
  for (Gift& gift : gifts_) {
    gift.agent->gifts.clear();
    Grant grant;
    grant.offer.id = outstanding_.next_id();
    grant.offer.agent = gift.agent->id;
    grant.offer.attributes = gift.agent->attributes;
    fair::Booked booked = gift.agent->book(gift.slices);
    grant.offer.slices = std::move(gift.slices);
    grant.offer.gang = gift.gang;
    grant.offer.fills = std::move(gift.fills);
    grant.offer.ports = gift.agent->free_ports;
    grant.offer.lease = options_.offer_timeout;
    grant.offer.role = gift.leaf->role->name;
    grant.framework = gift.leaf->framework;
    grant.role = gift.leaf->role->name;
    grant.offer.role = grant.role;
    grant.expires = later(now, options_.offer_timeout);
    decision.grants.push_back(grant);
    fair::OutstandingOffer offer{std::move(booked)};
    offer.grant = std::move(grant);
    offer.leaf = gift.leaf;
    offer.agent = gift.agent;
    offer.ports = gift.ports;
    offer.free_then = gift.agent->counted_free().amounts + offer.resources.amounts;
    outstanding_.add(std::move(offer));
  }
  gifts_.clear();
  least_with_due_.clear();
  ++turns_epoch_;
  free_.clear_fresh();
  dirty_ = false;
  decided_at_ = now;
  return decision;
}

std::optional<Time> Allocator::State::next_decision(Time now) const {
  if (dirty_) return now;
  std::optional<Time> next;
  const auto consider = [&](Time at) { next = next ? std::min(*next, at) : at; };
  if (const auto expiry = outstanding_.first_to_expire()) consider(expiry->first);
  if (!filter_timers_.empty()) consider(filter_timers_.begin()->at);
  if (!ask_timers_.empty()) consider(ask_timers_.begin()->at);
  if (reclaim_at_) consider(*reclaim_at_);
  if (!alarms_.empty()) consider(alarms_.begin()->at);
  for (const auto& [order, ask] : headroom_) consider(ask->headroom_review);
  return next;
}

Time Allocator::State::later(Time now, Duration duration) {
  if (duration > Time::far_future() - now && now >= Time()) return Time::far_future();
  return now + duration;
}

void Allocator::State::mark_dirty() {
  dirty_ = true;
  ++changes_;
  given_.clear();
  wrong_victims_.clear();
  entitlements_known_ = false;
}

fair::Agent& Allocator::State::agent(const AgentId& id) {
  const auto at = agents_.find(id);
  CHECK(at != agents_.end()) << "no agent " << id.str();
  return *at->second;
}

fair::Framework& Allocator::State::framework_at(const FrameworkId& id) {
  const auto at = frameworks_.find(id);
  CHECK(at != frameworks_.end()) << "no framework " << id.str();
  return *at->second;
}

}  // namespace proffer
