// Explains the standing of a running task: its protections, the reasons that make it a victim, and
// the asks for which it would be preempted. Begin with explain_task(); changes nothing.

#include <algorithm>

#include "allocator/explain/explainer.h"
#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"
#include "allocator/rules/placement.h"
#include "allocator/rules/victims.h"
#include "common/standing.h"

namespace proffer::fair {
namespace {

// The maximum number of asks for which a reclaim is planned.
constexpr int kPlansMax = 16;

}  // namespace

std::optional<TaskStanding> Explainer::explain_task(const AgentId& on, const FrameworkId& framework,
                                                    const TaskId& id) const {
  const auto agent = cluster_.agents.find(on);
  if (agent == cluster_.agents.end()) return std::nullopt;
  const TaskRef ref{framework, id};
  const auto at = agent->second->tasks.find(ref);
  if (at == agent->second->tasks.end()) return std::nullopt;
  const Task& task = at->second;
  cluster_.know_shares();
  know_entitlements(cluster_);
  TaskStanding found{.role = task.leaf->role->name,
                     .amounts = task.amounts(),
                     .band = task.claim().band,
                     .priority = task.claim().priority,
                     .gang = task.claim().gang,
                     .since = task.since,
                     .is_lent = task.is_lent() && !task.is_kept_until(now_),
                     .is_estimated = !task.estimated().is_zero(),
                     .ends_by = task.ends_by()};
  const Time ripe = later(task.since, cluster_.options.minimum_runtime);
  if (ripe > now_) found.protected_until = ripe;
  explain_over(task, found);
  if (!task.ends_by() && cluster_.options.reclaim != ReclaimMode::kOff &&
      cluster_.knows_all_tasks) {
    explain_victim(ref, found);
  }
  return found;
}

// Like may_be_taken() in victims.h.
void Explainer::explain_over(const Task& task, TaskStanding& found) const {
  const ResourceVector& amounts = task.amounts();
  const ResourceVector slack = entitlement_slack(cluster_.total);
  for (const Node* node = task.leaf; node->parent != nullptr; node = node->parent) {
    const ResourceVector kept = node->kept();
    ResourceVector over;
    for (const ResourceKind kind : kResourceKinds) {
      if (amounts[kind] == 0 || kept[kind] <= node->entitlement[kind] + slack[kind]) continue;
      over[kind] = kept[kind] - node->entitlement[kind];
    }
    if (!over.is_zero()) found.over.push_back({*node->label, over});
    if (node->is_leaf || !found.guaranteed_by.empty()) continue;
    const Role& role = static_cast<const Role&>(*node);
    if (is_guaranteed(role.settings.guarantee, kept, amounts)) found.guaranteed_by = role.name;
  }
}

// O(claimants * (agents + tasks of borrowers)).
void Explainer::explain_victim(const TaskRef& ref, TaskStanding& found) const {
  int plans = kPlansMax;
  for (const auto& [id, l] : cluster_.leaves) {
    if (!l->wants_offers()) continue;
    for (const AskEntry* ask : l->order) {
      if (l->mode == OfferMode::kOpen && !ask->is_implied()) continue;
      if (!waiting_.reclaims.lacks_more(*ask) || ask->only_preferred(now_)) continue;
      const Right right = right_of(cluster_, waiting_.reclaims, *ask);
      if (!right.any()) continue;
      if (--plans < 0) return;
      ReclaimPlan plan = plan_reclaim(cluster_, waiting_.reclaims, *ask, right, now_,
                                      now_ - cluster_.options.minimum_runtime);
      std::optional<Time> from;
      if (plan.places.empty()) {
        if (!plan.ripe_at) continue;
        from = plan.ripe_at;
        plan = plan_reclaim(cluster_, waiting_.reclaims, *ask, right, now_,
                            *plan.ripe_at - cluster_.options.minimum_runtime);
      }
      const bool is_in =
          std::any_of(plan.victims.begin(), plan.victims.end(), [&](const Victim& victim) {
            return std::any_of(victim.begin(), victim.end(),
                               [&](const auto& member) { return member.second == ref; });
          });
      if (!is_in) continue;
      found.victim_for.push_back({l->framework, ask->ask.name, l->role->name, from});
      if (found.victim_for.size() == kNamesExplainedMax) return;
    }
  }
}

}  // namespace proffer::fair
