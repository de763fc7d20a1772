#pragma once

// Finds the fewest tasks and offers of others, all on one agent, whose end would let an ask fit.
// The ask's own tasks are not considered: its framework knows them, and ending one would only
// replace it by another.

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "allocator/explain/fitting.h"

namespace proffer::fair {

// A task or an offer on one agent.
struct Occupant {
  const Task* task = nullptr;  // nullptr: an offer
  TaskRef ref = {};
  const OutstandingOffer* offer = nullptr;
  ResourceVector amounts = {};
  const Leaf* leaf = nullptr;
};
using Occupants = std::vector<Occupant>;

// A set of occupants of one agent.
struct Release {
  const Agent* agent = nullptr;
  Occupants what = {};
  int64_t worth = 0;
  auto cost() const { return std::tuple(what.size(), worth); }
};

// The changes after they have ended: agents, ended tasks by ask, uses.
struct After {
  std::map<const Agent*, AgentState> agents = {};
  std::map<const AskEntry*, int64_t> ended = {};
  Supposed as_if = {};
};

class Endings {
 public:
  Endings(const Cluster& cluster, const AskEntry& entry, const Fitting& as_it_is, Time now);

  // The smallest set of tasks and offers on one agent without which the ask fits; of equal sets the
  // one with the least resources. If one task or offer suffices, the result is exact. Else each
  // element of the result is needed, but a smaller set may exist.
  std::optional<Release> cheapest(bool tasks, bool offers);
  // The state after the release.
  After after(const Release& release) const;

 private:
  std::optional<Release> several_on(const Agent& agent, Occupants all,
                                    const ResourceVector& lacking);
  int64_t worth_of(const ResourceVector& amounts) const;
  Occupants occupants_of(const Agent& agent, bool tasks, bool offers, const Denial& denied) const;
  bool fits_without(const Release& release);

  const Cluster& cluster_;
  const AskEntry& entry_;
  const Fitting& as_it_is_;
  const Time now_;
  int tries_left_ = 0;
};

}  // namespace proffer::fair
