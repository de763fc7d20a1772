#pragma once

// The outstanding offers and when they expire.

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
  int64_t ports = 0;  // that its fills want
  // What was free at the agent when it was made, with what it holds; if more was kept back of what
  // it might have held, what it holds.
  ResourceVector free_then = {};

  // Its place in a list of offers.
  struct Place {
    OutstandingOffer* before = nullptr;
    OutstandingOffer* after = nullptr;
  };
  Place at_agent = {};
  Place at_leaf = {};
};

// The ids in the list, in order.
std::vector<OfferId> offers_of(const Agent& agent);
std::vector<OfferId> offers_of(const Leaf& leaf);

class OutstandingOffers {
 public:
  OfferId next_id() { return OfferId(++last_id_); }
  uint64_t last_id() const { return last_id_; }
  // Adds it here, at its agent and at its leaf.
  void add(OutstandingOffer offer);
  // Takes it away from all three. CHECKs that it is here.
  OutstandingOffer take(const OfferId& id);
  const OutstandingOffer* find(const OfferId& id) const;
  // Whether it is in the list of its agent, and in that of its leaf.
  static bool is_at_agent(const OutstandingOffer& offer);
  static bool is_at_leaf(const OutstandingOffer& offer);
  // The offers of a gang, by id. Empty if there are none any more.
  const std::set<OfferId>& of_gang(uint64_t gang) const;
  // The one that expires first and when. O(1) over many calls.
  std::optional<std::pair<Time, OfferId>> first_to_expire() const;
  // In no order.
  const std::unordered_map<OfferId, OutstandingOffer>& all() const { return offers_; }

 private:
  std::unordered_map<OfferId, OutstandingOffer> offers_;
  // In order. Those that have ended go when they come first, or when they are most of it.
  mutable std::deque<std::pair<Time, OfferId>> by_expiry_;
  std::map<uint64_t, std::set<OfferId>> by_gang_;  // none is empty
  uint64_t last_id_ = 0;
};

}  // namespace proffer::fair
