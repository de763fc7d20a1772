#include "allocator/outstanding.h"

namespace proffer::fair {

void OutstandingOffers::add(OutstandingOffer offer) {
  const OfferId id = offer.grant.offer.id;
  by_expiry_.emplace(offer.grant.expires, id);
  offer.agent->offers.insert(id);
  offer.leaf->offers.insert(id);
  if (offer.grant.offer.gang != 0) by_gang_[offer.grant.offer.gang].insert(id);
  CHECK(offers_.emplace_hint(offers_.end(), id, std::move(offer))->first == id);
}

OutstandingOffer OutstandingOffers::take(const OfferId& id) {
  const auto at = offers_.find(id);
  CHECK(at != offers_.end()) << "offer " << id.value() << " is not outstanding";
  OutstandingOffer offer = std::move(at->second);
  offers_.erase(at);
  by_expiry_.erase({offer.grant.expires, id});
  offer.agent->offers.erase(id);
  offer.leaf->offers.erase(id);
  if (const auto gang = by_gang_.find(offer.grant.offer.gang); gang != by_gang_.end()) {
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
  if (by_expiry_.empty()) return std::nullopt;
  return *by_expiry_.begin();
}

}  // namespace proffer::fair
