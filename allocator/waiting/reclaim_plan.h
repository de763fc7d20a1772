#pragma once

// Plans a reclaim for an ask: the agents, and the tasks that must end there. Changes nothing.
// right_of() says which guarantee or share gives the ask a right to reclaim. plan_reclaim()
// compares the agents by these costs, in this order:
//
//   * Possible victims end by themselves within the grace, and the ask fits then: no task gets a
//     notice. The ask waits for them once; if they did not end, it does not wait again.
//     It waits likewise for victims that are too young, in place of asks that are spared
//     (spared.h), but such an agent has the costs of these victims.
//   * the highest band among the victims; the lowest is best
//   * the depth of the role in which the paths of claimant and victims part; the least is best
//   * the excess of the victims' borrowers over their entitlements; the largest is best
//   * the number of victims with a higher priority than another task of their framework, which
//     could end in their place
//   * the work that is lost: the size of each victim times its age
//   * the number of victims
//   * whether a claim of another ask has to give way
//   * the amounts that are freed and not needed
//   * the id of the agent

#include <optional>
#include <utility>
#include <vector>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

class Reclaims;

// The right of an ask to reclaim.
struct Right {
  // The role whose unmet guarantee covers the ask, the nearest to the root; nullptr: its share.
  const Role* promise = nullptr;
  const Role* closest = nullptr;  // the same, the furthest from the root
  Share filled = {};              // the used fraction of the guarantee of `promise`
  // The amounts that must be free on the agent: the kinds that the guarantee does not name, if the
  // role, with the ask, uses more of them than its whole guarantee.
  ResourceVector beyond = {};
  // For each node from the ask's leaf upwards: whether tasks below its siblings may be victims.
  std::vector<bool> reaches = {};
  bool any() const;
};

// A task, or the tasks of a gang.
using Victim = std::vector<std::pair<Agent*, TaskRef>>;

struct ReclaimPlan {
  struct Place {
    Agent* agent = nullptr;
    int64_t tasks = 0;  // of the claimant, besides those that are awaited there
  };
  std::vector<Place> places = {};  // empty: there is no plan
  std::vector<Victim> victims = {};
  bool waits = false;                // for tasks that end by themselves within the grace
  bool spares = false;               // waits for tasks that are too young, to spare others
  std::optional<Time> ripe_at = {};  // without a plan: when enough tasks are old enough for one
  bool somebody_borrows = false;
  int64_t tasks() const;  // of the victims
};

Right right_of(const Cluster& cluster, const Reclaims& reclaims, const AskEntry& ask);
// Only tasks that began at `ripe` or before may be victims.
ReclaimPlan plan_reclaim(const Cluster& cluster, const Reclaims& reclaims, const AskEntry& ask,
                         const Right& right, Time now, Time ripe);
// The naive rule: the sum of the freed amounts must be enough, on any agents.
ReclaimPlan plan_anywhere(const Cluster& cluster, const AskEntry& ask, const Right& right);

}  // namespace proffer::fair
