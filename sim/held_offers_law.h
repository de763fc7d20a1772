#pragma once

// The law of unanswered offers: no demand below its share waits for them longer than the longest
// patience of the allocator. It uses only knowledge of the allocator that a master gives to all.

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "common/result.h"
#include "sim/guarantee_law.h"

namespace proffer::sim {

class HeldOffersLaw {
 public:
  // An unanswered offer is *old* after this time. It is the longest patience with a framework that
  // has never used an offer, and what passes until the allocator looks and its messages arrive.
  static constexpr Duration kOldAfter = milliseconds(1'600);
  // The same for a framework that has used offers.
  static constexpr Duration kOldAfterUse = milliseconds(8'600);
  // After a rescind that did not serve a demand, the allocator tries again after five seconds.
  static constexpr Duration kDemandMax = seconds(6);

  // Call it often. `offers`: the outstanding ones. Each role has one framework, and no role is
  // below another. A demand is a plain ask: it may run on any agent.
  std::vector<Violation> look(const MasterWord& word, const std::vector<proto::OfferRow>& offers,
                              Time now);
  // The number of times at which a demand below its share saw old offers of a role above its share:
  // shows that a test has tried the law.
  int64_t tried() const { return tried_; }

 private:
  using AskKey = std::pair<FrameworkId, AskName>;
  std::map<AskKey, Time> since_;                 // the demands that old offers keep from running
  std::map<FrameworkId, ResourceVector> units_;  // the largest task of each framework, by kind
  std::set<FrameworkId> users_;                  // frameworks that have used an offer
  int64_t tried_ = 0;
};

}  // namespace proffer::sim
