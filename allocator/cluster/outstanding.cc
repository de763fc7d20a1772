#include "allocator/cluster/outstanding.h"

#include <algorithm>

namespace proffer::fair {
namespace {

// So many that have ended are never worth a look at all.
constexpr size_t kEndedMax = 64;

}  // namespace

void OutstandingOffers::add(OutstandingOffer offer) {
  const OfferId id = offer.grant->offer.id;
  if (by_expiry_.size() > 2 * offers_.size() + kEndedMax) {
    std::erase_if(by_expiry_, [&](const auto& entry) { return find(entry.second) == nullptr; });
  }
  // Leases are of one length, so it nearly always comes last.
  const std::pair entry(offer.grant->expires, id);
  const bool is_last = by_expiry_.empty() || by_expiry_.back() < entry;
  by_expiry_.insert(
      is_last ? by_expiry_.end() : std::upper_bound(by_expiry_.begin(), by_expiry_.end(), entry),
      entry);
  offer.agent->offers.insert(id);
  offer.leaf->offers.insert(id);
  if (offer.grant->offer.gang != 0) by_gang_[offer.grant->offer.gang].insert(id);
  CHECK(offers_.emplace(id, std::move(offer)).second) << "offer " << id.value();
}

OutstandingOffer OutstandingOffers::take(const OfferId& id) {
  const auto at = offers_.find(id);
  CHECK(at != offers_.end()) << "offer " << id.value() << " is not outstanding";
  OutstandingOffer offer = std::move(at->second);
  offers_.erase(at);
  offer.agent->offers.erase(id);
  offer.leaf->offers.erase(id);
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
