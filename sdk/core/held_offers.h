#pragma once

// The offers that the author may still answer. Pure.

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "common/offers.h"
#include "common/result.h"

namespace proffer::sdk {

class HeldOffers {
 public:
  // The lease runs from now on. It is a little longer than the master's, so that the master decides
  // whether a late answer counts.
  void add(const Offer& offer, Time now) {
    const Time expires = now + offer.lease;
    drop(offer.id);
    expiries_[offer.id] = expires;
    by_expiry_.emplace(expires, offer.id);
  }
  // Returns the valid ones of `offers`, each once. All of them leave the table, since an offer is
  // answered once.
  std::vector<OfferId> take(const std::vector<OfferId>& offers, Time now) {
    std::vector<OfferId> valid;
    for (const OfferId offer : offers) {
      const auto held = expiries_.find(offer);
      if (held == expiries_.end()) continue;
      if (now < held->second) valid.push_back(offer);
      drop(offer);
    }
    return valid;
  }
  // Forgets the offers whose lease has ended.
  void expire(Time now) {
    while (!by_expiry_.empty() && by_expiry_.begin()->first <= now) {
      expiries_.erase(by_expiry_.begin()->second);
      by_expiry_.erase(by_expiry_.begin());
    }
  }
  void clear() {
    expiries_.clear();
    by_expiry_.clear();
  }
  size_t size() const { return expiries_.size(); }
  std::vector<Violation> violations() const {
    std::vector<Violation> found;
    if (expiries_.size() != by_expiry_.size()) found.push_back({"offers and their leases differ"});
    return found;
  }

 private:
  void drop(OfferId offer) {
    const auto held = expiries_.find(offer);
    if (held == expiries_.end()) return;
    by_expiry_.erase({held->second, offer});
    expiries_.erase(held);
  }

  std::map<OfferId, Time> expiries_;
  std::set<std::pair<Time, OfferId>> by_expiry_;
};

}  // namespace proffer::sdk
