// Explains the reclaim for an ask, or why there is none, as the next decision would see it.

#include <algorithm>

#include "allocator/explain/explainer.h"
#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"
#include "allocator/rules/placement.h"

namespace proffer::fair {

ReclaimOutlook Explainer::reclaim_outlook(const FrameworkId& framework, const AskName& name) const {
  using Why = ReclaimOutlook::Why;
  const Framework& f = *cluster_.frameworks.at(framework);
  const auto at = f.asks.find(name);
  if (at == f.asks.end() || !at->second->leaf->wants_offers() || at->second->unmet() == 0) {
    return {.why = Why::kNothingWanted};
  }
  const AskEntry& ask = *at->second;
  ReclaimOutlook outlook;
  const auto note = [&](const Agent& a, const Task& task) {
    outlook.agent = a.id;
    outlook.holder = task.leaf->role->name;
    ++outlook.victims;
  };
  if (const AgentSet& agents = waiting_.reclaims.agents_of(ask); !agents.empty()) {
    outlook.why = Why::kUnderWay;
    for (const Agent* a : agents) {
      const Reclaim& reclaim = *waiting_.reclaims.find(*a, ask);
      if (reclaim.waits) outlook.until = std::max(outlook.until.value_or(Time()), reclaim.until);
      for (const auto& [ref, task] : a->tasks) {
        if (!task.ends_by()) continue;
        note(*a, task);
        outlook.until = std::max(outlook.until.value_or(*task.ends_by()), *task.ends_by());
      }
    }
    return outlook;
  }
  if (cluster_.options.reclaim == ReclaimMode::kOff) return {.why = Why::kOff};
  if (waiting_.reclaims.is_refused(ask)) return {.why = Why::kRefused};
  if (!cluster_.knows_all_tasks) return {.why = Why::kTasksUnknown};
  const Right right = right_of(cluster_, waiting_.reclaims, ask);
  if (!right.any()) return {.why = Why::kNoRight};
  if (right.promise != nullptr) outlook.promise = right.promise->name;
  const std::optional<Time> patient = waiting_.reclaims.patient_until(ask);
  if (right.promise == nullptr && patient && now_ < *patient) {
    return {.why = Why::kTooEarly, .until = patient};
  }

  ReclaimPlan plan = plan_reclaim(cluster_, waiting_.reclaims, ask, right, now_,
                                  now_ - cluster_.options.minimum_runtime);
  if (!plan.places.empty()) {
    outlook.why = Why::kCap;
    outlook.until = waiting_.reclaims.cap_open(plan.tasks(), now_);
  } else if (plan.ripe_at) {
    outlook.why = Why::kTooYoung;
    outlook.until = plan.ripe_at;
    plan = plan_reclaim(cluster_, waiting_.reclaims, ask, right, now_,
                        *plan.ripe_at - cluster_.options.minimum_runtime);
  } else {
    outlook.why = plan.somebody_borrows ? Why::kWouldNotFit : Why::kNobodyBorrows;
  }
  for (const Victim& victim : plan.victims) {
    for (const auto& [a, ref] : victim) note(*a, a->tasks.at(ref));
  }
  return outlook;
}

}  // namespace proffer::fair
