#pragma once

// The agents as the allocator sees them, and the index of those with something free.

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "allocator/held.h"
#include "common/attributes.h"
#include "common/ids.h"
#include "common/offers.h"

namespace proffer::fair {

struct AskEntry;
struct Leaf;

// Which task: ids are unique within their frameworks.
struct TaskRef {
  FrameworkId framework = {};
  TaskId task = {};
  auto operator<=>(const TaskRef&) const = default;
};
// A task that is allocated.
struct Task {
  Leaf* leaf = nullptr;
  AskName ask = {};
  TaskClaim claim = {};
  Time since = {};
  std::optional<Time> ends_by = {};  // it has had a revoke notice
  Resources resources = {};          // the sum of its slices
};

// What was told to end on an agent for a claimant, for whom the agent is set aside until then.
struct Reclaim {
  int64_t tasks = 0;      // of the claimant that will fit there
  Time until = {};        // then it is nobody's
  bool is_short = false;  // more must be told to end, when more may
};

struct Agent {
  AgentId id = {};
  Attributes attributes = {};
  uint64_t attributes_version = 0;  // never used twice, whatever agent; for caches
  bool active = true;
  bool draining = false;

  Resources total = {};  // its unreserved slices
  Held allocated = {};
  Held offered = {};
  Resources free = {};                            // what is neither, per kind and device
  std::map<FrameworkId, Held> allocated_to = {};  // none is zero
  std::map<TaskRef, Task> tasks = {};
  std::set<OfferId> offers = {};  // outstanding

  PortSet ports = {};
  PortSet free_ports = {};
  int64_t free_port_count = 0;
  int64_t ports_offered = 0;  // wanted by the fills of outstanding offers

  AskEntry* claim = nullptr;            // what becomes free here is for this ask alone
  std::optional<Reclaim> reclaim = {};  // that is because tasks were told to end for it
  ResourceVector noticed = {};          // of these, and all others that have had a notice
  uint64_t growths = 0;                 // how often something became free here

  // Kept by FreeAgents.
  bool listed = false;
  int64_t weighted_free = 0;
  uint64_t grown_at = 0;  // stamp of the last time something became free, or could be used anew

  int64_t ports_left() const { return free_port_count - ports_offered; }
  // Whether it may be offered at all.
  bool serves() const { return active && !draining; }
  bool has_gpus() const { return total.amounts[ResourceKind::kGpus] > 0; }
};

struct AgentById {
  using is_transparent = void;
  bool operator()(const Agent* a, const Agent* b) const { return a->id < b->id; }
};
using AgentSet = std::set<Agent*, AgentById>;
// By weighted free amount, then id. An ask's remainder on an agent is this less the ask's own
// weighted amount, so the first that fits, from below, is the best fit.
using AgentsByFree = std::map<int64_t, AgentSet>;

// Amounts as one number: the sum of each kind's fraction of `total`, in 2^-20, rounded down by
// kind.
int64_t weighted(const ResourceVector& amounts, const ResourceVector& total);

// The agents from which one may take: active, not claimed, something free. A change of an agent is
// made between erase() and insert(). O(log n) each.
class FreeAgents {
 public:
  void insert(Agent& agent, const ResourceVector& cluster_total);
  void erase(Agent& agent);
  // Marks that the agent has more than before: who was blocked should look at it again.
  void stamp(Agent& agent);
  uint64_t latest() const { return stamp_; }

  const AgentsByFree& plain() const { return by_free_[0]; }
  const AgentsByFree& with_gpus() const { return by_free_[1]; }
  // By stamp, so that those that grew after some moment are at the end.
  const std::map<uint64_t, Agent*>& by_stamp() const { return by_stamp_; }
  // Those stamped since clear_fresh(), by id.
  const AgentSet& fresh() const { return fresh_; }
  void clear_fresh() { fresh_.clear(); }
  // What is free on all of them together.
  const ResourceVector& sum() const { return sum_; }
  void forget_fresh(Agent& agent) { fresh_.erase(&agent); }

 private:
  AgentsByFree by_free_[2];
  std::map<uint64_t, Agent*> by_stamp_;
  AgentSet fresh_;
  ResourceVector sum_;
  uint64_t stamp_ = 0;
};

}  // namespace proffer::fair
