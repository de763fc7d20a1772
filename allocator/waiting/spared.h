#pragma once

// Back-off for victims. A preempted task is wanted again, and its successor may be preempted as
// soon as it is old enough: where all other tasks are younger than the minimum runtime, a service
// is preempted for each claimant. So after a preemption the tasks of an ask are *spared* for a
// while: if, by the order of victims, younger tasks would come first once they are old enough, the
// claimant waits for these (reclaim_plan.h), at most for the minimum runtime. The while is two
// minutes at first. It doubles, to an hour at most, if a task of the ask is preempted again before
// as much time as it lasted has passed since it ended. Tasks that are expected to run for no longer
// than two minutes lose little, and are not spared.

#include <map>
#include <utility>

#include "allocator/cluster/agents.h"

namespace proffer::fair {

class Spared {
 public:
  // The task of the framework gets notice for a claimant. Its successor may begin after the grace.
  void note_victim(const FrameworkId& framework, const Task& task, Time now, Duration grace);
  bool is_spared(const FrameworkId& framework, const AskName& ask, Time now) const;

 private:
  struct Case {
    Time from = {};  // the end of the grace
    Duration lasts = {};
  };
  std::map<std::pair<FrameworkId, AskName>, Case> cases_;  // a bounded number; looked up only
};

}  // namespace proffer::fair
