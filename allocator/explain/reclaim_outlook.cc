// Why nothing is taken back for an ask, or what is. As the next decision would see it.

#include <algorithm>

#include "allocator/state.h"

namespace proffer {

ReclaimOutlook Allocator::State::reclaim_outlook(const FrameworkId& framework, const AskName& name,
                                                 Time now) const {
  using Why = ReclaimOutlook::Why;
  const Framework& f = *frameworks_.at(framework);
  const auto at = f.asks.find(name);
  if (at == f.asks.end() || !at->second->leaf->wants_offers() || at->second->unmet() == 0) {
    return {.why = Why::kNothingWanted};
  }
  const AskEntry& ask = *at->second;
  ReclaimOutlook outlook;
  const auto note = [&](const Agent& a, const fair::Task& task) {
    outlook.agent = a.id;
    outlook.holder = task.leaf->role->name;
    ++outlook.victims;
  };
  if (!ask.reclaims.empty()) {
    outlook.why = Why::kUnderWay;
    for (const Agent* a : ask.reclaims) {
      for (const auto& [ref, task] : a->tasks) {
        if (!task.ends_by) continue;
        note(*a, task);
        outlook.until = std::max(outlook.until.value_or(*task.ends_by), *task.ends_by);
      }
    }
    return outlook;
  }
  if (options_.reclaim == ReclaimMode::kOff) return {.why = Why::kOff};
  if (ask.reclaim_refused) return {.why = Why::kRefused};
  if (!knows_all_tasks_) return {.why = Why::kTasksUnknown};
  const Right right = right_of(ask);
  if (!right.any()) return {.why = Why::kNoRight};
  if (right.promise != nullptr) outlook.promise = right.promise->name;

  ReclaimPlan plan = plan_reclaim(ask, right, now, now - options_.minimum_runtime);
  if (!plan.places.empty()) {
    outlook.why = Why::kCap;
    outlook.until = std::max(cap_wait_until_, revokes_open(plan.tasks(), now));
  } else if (plan.ripe_at) {
    outlook.why = Why::kTooYoung;
    outlook.until = plan.ripe_at;
    plan = plan_reclaim(ask, right, now, *plan.ripe_at - options_.minimum_runtime);
  } else {
    outlook.why = plan.somebody_borrows ? Why::kWouldNotFit : Why::kNobodyBorrows;
  }
  for (const Victim& victim : plan.victims) {
    for (const auto& [a, ref] : victim) note(*a, a->tasks.at(ref));
  }
  return outlook;
}

}  // namespace proffer
