#pragma once

// The outstanding offers, their expiry, and the end of the patience with them.

#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "allocator/cluster/leaves.h"
#include "allocator/values.h"

namespace proffer::fair {

struct OutstandingOffer : Booked {
  SharedGrant grant;
  Leaf* leaf = nullptr;
  Agent* agent = nullptr;
  int64_t ports = 0;  // ports that its fills need
  // The agent's free amounts at the time of the offer, including the offer. If other resources were
  // withheld from it, only the offer's amounts.
  ResourceVector free_then = {};

  // Its links in a list of offers.
  struct Place {
    OutstandingOffer* before = nullptr;
    OutstandingOffer* after = nullptr;
  };
  Place at_agent = {};
  Place at_leaf = {};

  Time made() const { return grant->expires - grant->offer.lease; }
};

// The ids of the agent's or leaf's offers, in order.
std::vector<OfferId> offers_of(const Agent& agent);
std::vector<OfferId> offers_of(const Leaf& leaf);

class OutstandingOffers {
 public:
  OfferId next_id() { return OfferId(++last_id_); }
  uint64_t last_id() const { return last_id_; }
  // Adds the offer here and to the lists of its agent and its leaf.
  void add(OutstandingOffer offer);
  // Removes the offer from all three and returns it. CHECKs that it is here.
  OutstandingOffer take(const OfferId& id);
  const OutstandingOffer* find(const OfferId& id) const;
  // Whether the offer is in the list of its agent; of its leaf.
  static bool is_at_agent(const OutstandingOffer& offer);
  static bool is_at_leaf(const OutstandingOffer& offer);
  // The offers of a gang, by id. Empty if there are none.
  const std::set<OfferId>& of_gang(uint64_t gang) const;
  // The offer that expires first, and its time. O(1) amortized.
  std::optional<std::pair<Time, OfferId>> first_to_expire() const;
  // The oldest offer of each leaf, with the time at which the patience with it ends, in order.
  const std::set<std::pair<Time, OfferId>>& by_answer() const { return by_answer_; }
  // O(leaves of the framework * log leaves).
  void set_patience(Framework& framework, Duration patience);
  // In no order.
  const std::unordered_map<OfferId, OutstandingOffer>& all() const { return offers_; }

 private:
  void enter_by_answer(const OutstandingOffer& offer);

  std::unordered_map<OfferId, OutstandingOffer> offers_;
  // In order. Ended offers are dropped when they come first, or when they are the majority.
  mutable std::deque<std::pair<Time, OfferId>> by_expiry_;
  std::set<std::pair<Time, OfferId>> by_answer_;
  std::map<uint64_t, std::set<OfferId>> by_gang_;  // none is empty
  uint64_t last_id_ = 0;
};

}  // namespace proffer::fair
