#pragma once

// What would have to end for an ask to fit somewhere. Reads only. right_of() says on whose account
// an ask may claim, plan_reclaim() looks for the agent where that costs least. If tasks that could
// be victims end by themselves within the grace, and the ask fits then, no task gets a notice; the
// ask waits for them once, and if they did not end, it does not wait again. Else: whose highest
// band among the victims is lowest; then where the victims' borrowers are most above their
// entitlement; then where fewest victims are worth more to their framework than a task that runs on
// elsewhere; then least work lost (of each victim its size times its age), then fewest victims,
// then no claim of another ask that has to give way, then least freed in vain, then by id.

#include <optional>
#include <utility>
#include <vector>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

class Reclaims;

// On whose account an ask may take something back.
struct Right {
  const Role* promise = nullptr;  // whose unmet guarantee covers it; nullptr: its share alone
  const Role* closest = nullptr;  // of such roles, the one that is furthest from the root
  Share filled = {};              // how much of that guarantee is
  // Above zero in the kinds of which the role has more than its whole guarantee already, with the
  // ask: the guarantee does not name them, and they must be free where the ask is to run.
  ResourceVector beyond = {};
  // For each node on its way up, whether what is held by siblings of that node may be taken.
  std::vector<bool> reaches = {};
  bool any() const;
};

// A task, or the tasks of a gang.
using Victim = std::vector<std::pair<Agent*, TaskRef>>;

struct ReclaimPlan {
  struct Place {
    Agent* agent = nullptr;
    int64_t tasks = 0;  // of the claimant, beyond those that are awaited there
  };
  std::vector<Place> places = {};  // none: nothing would do
  std::vector<Victim> victims = {};
  bool waits = false;                // for tasks that end by themselves within the grace
  std::optional<Time> ripe_at = {};  // if nothing would do now: when something may
  bool somebody_borrows = false;
  int64_t tasks() const;  // of the victims
};

Right right_of(const Cluster& cluster, const Reclaims& reclaims, const AskEntry& ask);
// Tasks that began by `ripe` may be told to end.
ReclaimPlan plan_reclaim(const Cluster& cluster, const Reclaims& reclaims, const AskEntry& ask,
                         const Right& right, Time now, Time ripe);
// The naive rule: amounts alone count, whatever agents they are on.
ReclaimPlan plan_anywhere(const Cluster& cluster, const AskEntry& ask, const Right& right);

}  // namespace proffer::fair
