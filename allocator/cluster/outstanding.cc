#include "allocator/cluster/outstanding.h"

#include <algorithm>

#include "common/check.h"

namespace proffer::fair {
namespace {

// Up to this number, ended offers are not worth a cleanup.
constexpr size_t kEndedMax = 64;

using PlaceIn = OutstandingOffer::Place OutstandingOffer::*;

// Ids only grow, so a new offer comes last.
void append(OfferList& list, OutstandingOffer& offer, PlaceIn place) {
  (offer.*place).before = list.last;
  (list.last == nullptr ? list.first : (list.last->*place).after) = &offer;
  list.last = &offer;
}

void remove(OfferList& list, OutstandingOffer& offer, PlaceIn place) {
  const auto [before, after] = offer.*place;
  (before == nullptr ? list.first : (before->*place).after) = after;
  (after == nullptr ? list.last : (after->*place).before) = before;
  offer.*place = {};
}

std::vector<OfferId> ids_in(const OfferList& list, PlaceIn place) {
  std::vector<OfferId> ids;
  for (const OutstandingOffer* o = list.first; o != nullptr; o = (o->*place).after) {
    ids.push_back(o->grant->offer.id);
  }
  return ids;
}

bool is_in(const OfferList& list, const OutstandingOffer& offer, PlaceIn place) {
  const auto [before, after] = offer.*place;
  return (before == nullptr ? list.first : (before->*place).after) == &offer &&
         (after == nullptr ? list.last : (after->*place).before) == &offer;
}

}  // namespace

std::vector<OfferId> offers_of(const Agent& agent) {
  return ids_in(agent.offers, &OutstandingOffer::at_agent);
}
std::vector<OfferId> offers_of(const Leaf& leaf) {
  return ids_in(leaf.offers, &OutstandingOffer::at_leaf);
}

bool OutstandingOffers::is_at_agent(const OutstandingOffer& offer) {
  return is_in(offer.agent->offers, offer, &OutstandingOffer::at_agent);
}
bool OutstandingOffers::is_at_leaf(const OutstandingOffer& offer) {
  return is_in(offer.leaf->offers, offer, &OutstandingOffer::at_leaf);
}

void OutstandingOffers::add(OutstandingOffer offer) {
  const OfferId id = offer.grant->offer.id;
  if (by_expiry_.size() > 2 * offers_.size() + kEndedMax) {
    std::erase_if(by_expiry_, [&](const auto& entry) { return find(entry.second) == nullptr; });
  }
  // Most leases have the same length, so the entry nearly always comes last.
  const std::pair entry(offer.grant->expires, id);
  const bool is_last = by_expiry_.empty() || by_expiry_.back() < entry;
  by_expiry_.insert(
      is_last ? by_expiry_.end() : std::upper_bound(by_expiry_.begin(), by_expiry_.end(), entry),
      entry);
  if (offer.grant->offer.gang != 0) by_gang_[offer.grant->offer.gang].insert(id);
  const auto [at, is_new] = offers_.emplace(id, std::move(offer));
  CHECK(is_new) << "offer " << id.value();
  append(at->second.agent->offers, at->second, &OutstandingOffer::at_agent);
  Leaf& leaf = *at->second.leaf;
  append(leaf.offers, at->second, &OutstandingOffer::at_leaf);
  if (leaf.offers.first == &at->second) enter_by_answer(at->second);
}

void OutstandingOffers::enter_by_answer(const OutstandingOffer& offer) {
  Leaf& leaf = *offer.leaf;
  leaf.answer_by = offer.made() + leaf.owner->patience;
  by_answer_.emplace(leaf.answer_by, offer.grant->offer.id);
}

void OutstandingOffers::set_patience(Framework& framework, Duration patience) {
  if (framework.patience == patience) return;
  framework.patience = patience;
  for (const auto& [role, leaf] : framework.leaves) {
    if (leaf->offers.empty()) continue;
    const OutstandingOffer& oldest = *leaf->offers.first;
    by_answer_.erase({leaf->answer_by, oldest.grant->offer.id});
    enter_by_answer(oldest);
  }
}

OutstandingOffer OutstandingOffers::take(const OfferId& id) {
  const auto at = offers_.find(id);
  CHECK(at != offers_.end()) << "offer " << id.value() << " is not outstanding";
  Leaf& leaf = *at->second.leaf;
  const bool was_oldest = leaf.offers.first == &at->second;
  if (was_oldest) by_answer_.erase({leaf.answer_by, id});
  remove(at->second.agent->offers, at->second, &OutstandingOffer::at_agent);
  remove(leaf.offers, at->second, &OutstandingOffer::at_leaf);
  if (was_oldest && !leaf.offers.empty()) enter_by_answer(*leaf.offers.first);
  OutstandingOffer offer = std::move(at->second);
  offers_.erase(at);
  if (const auto gang = by_gang_.find(offer.grant->offer.gang); gang != by_gang_.end()) {
    gang->second.erase(id);
    if (gang->second.empty()) by_gang_.erase(gang);
  }
  return offer;
}

const std::set<OfferId>& OutstandingOffers::of_gang(uint64_t gang) const {
  static const std::set<OfferId> kNone;
  const auto at = by_gang_.find(gang);
  return at == by_gang_.end() ? kNone : at->second;
}

const OutstandingOffer* OutstandingOffers::find(const OfferId& id) const {
  const auto at = offers_.find(id);
  return at == offers_.end() ? nullptr : &at->second;
}

std::optional<std::pair<Time, OfferId>> OutstandingOffers::first_to_expire() const {
  while (!by_expiry_.empty() && find(by_expiry_.front().second) == nullptr) {
    by_expiry_.pop_front();
  }
  if (by_expiry_.empty()) return std::nullopt;
  return by_expiry_.front();
}

}  // namespace proffer::fair
