#pragma once

// What would have to end for an ask to fit: the fewest tasks and offers of others, all on one
// agent. Of its own tasks nothing is said: its framework knows them, and would only change one for
// another.

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "allocator/explain/fitting.h"

namespace proffer::fair {

// A task or an offer of somebody on one agent.
struct Occupant {
  const Task* task = nullptr;  // nullptr: an offer
  TaskRef ref = {};
  const OutstandingOffer* offer = nullptr;
  ResourceVector amounts = {};
  const Leaf* leaf = nullptr;
};
using Occupants = std::vector<Occupant>;

// Some on one agent.
struct Release {
  const Agent* agent = nullptr;
  Occupants what = {};
  int64_t worth = 0;
  auto cost() const { return std::tuple(what.size(), worth); }
};

// What is otherwise once they have ended: agents, how many tasks of asks, uses.
struct After {
  std::map<const Agent*, AgentState> agents = {};
  std::map<const AskEntry*, int64_t> ended = {};
  Supposed as_if = {};
};

class Endings {
 public:
  Endings(const Cluster& cluster, const AskEntry& entry, const Fitting& as_it_is, Time now);

  // The smallest set of tasks and offers on one agent without which the ask fits; of sets of equal
  // size the one with the least resources. If one task or offer is enough, that is the answer. Else
  // the answer is a set in which each is needed, but a smaller set may exist.
  std::optional<Release> cheapest(bool tasks, bool offers);
  // As things are then.
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
