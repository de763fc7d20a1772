#include "allocator/explain/status.h"

#include <algorithm>

#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"

namespace proffer::fair {
namespace {

std::vector<const AskEntry*> by_name(const std::vector<AskEntry*>& asks) {
  std::vector<const AskEntry*> sorted(asks.begin(), asks.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return a->ask.name < b->ask.name; });
  return sorted;
}

AskStatus status_of(const Cluster& cluster, const Waiting& waiting, const AskEntry& ask) {
  AskStatus status{.ask = ask.ask.name, .wanted = ask.ask.count, .offered = ask.offered};
  status.could_ever_fit = exceeded_limit(ask).is_none() && could_ever_be_met(cluster, ask, false);
  status.claimed = claimed_for(waiting, ask);
  status.claim_complete_at = waiting.claims.complete_at(ask, cluster.decided_at);
  for (const Agent* a : waiting.reclaims.agents_of(ask)) status.set_aside.push_back(a->id);
  for (const Agent* a : ask.set_aside) {
    if (!a->keep.is_zero()) {
      status.kept.push_back({a->id, (a->keep - a->lent).max(ResourceVector())});
    } else if (!a->by_notice()) {
      status.set_aside.push_back(a->id);
    }
  }
  status.has_headroom = ask.has_headroom();
  return status;
}

void add_statuses(const Cluster& cluster, const Waiting& waiting, const Leaf& l,
                  std::vector<AskStatus>& statuses) {
  for (const AskEntry* ask : by_name(l.order)) {
    if (!ask->is_implied()) statuses.push_back(status_of(cluster, waiting, *ask));
  }
}

LagStatus status_of(const Lag& lag, Time now) {
  return {.now = lag.at(now), .most = lag.most_at(now)};
}

void raise(LagStatus& lag, const LagStatus& other) {
  lag.now = std::max(lag.now, other.now);
  lag.most = std::max(lag.most, other.most);
}

}  // namespace

std::optional<AgentId> claimed_for(const Waiting& waiting, const AskEntry& ask) {
  const AgentSet& owed = waiting.reclaims.agents_of(ask);
  if (!owed.empty()) return (*owed.begin())->id;
  return ask.set_aside.empty() ? std::nullopt : std::optional(ask.set_aside.front()->id);
}

std::vector<RoleStatus> role_statuses(const Cluster& cluster) {
  cluster.know_shares();
  know_entitlements(cluster);
  const ResourceVector total = cluster.total_now();
  std::vector<RoleStatus> all;
  for (const auto& [name, r] : cluster.tree.roles()) {
    all.push_back({.role = name,
                   .settings = r->settings,
                   .allocated = r->allocated,
                   .offered = r->offered,
                   .dominant_share = dominant_share(r->use(), total),
                   .place_share = r->share.millionths(),
                   .entitlement = r->entitlement,
                   .borrowed = borrowed(*r),
                   .guarantee_met = is_guarantee_met(cluster, *r)});
  }
  return all;
}

std::vector<LeafStatus> leaf_statuses(const Cluster& cluster, const Waiting& waiting) {
  const ResourceVector total = cluster.total_now();
  std::vector<LeafStatus> all;
  for (const auto& [id, l] : cluster.leaves) {
    LeafStatus status{.framework = id.framework,
                      .role = id.role,
                      .allocated = l->allocated,
                      .offered = l->offered,
                      .dominant_share = dominant_share(l->use(), total),
                      .weighted_share = dominant_share(l->use(), total),
                      .suppressed = l->owner->suppressed};
    add_statuses(cluster, waiting, *l, status.asks);
    if (const AskEntry* ask = l->implied()) status.implied = status_of(cluster, waiting, *ask);
    all.push_back(std::move(status));
  }
  return all;
}

std::vector<FrameworkLag> framework_lags(const Cluster& cluster, Time now) {
  std::vector<FrameworkLag> all;
  for (const auto& [id, f] : cluster.frameworks) {
    FrameworkLag one{.framework = id, .lag = {.most = f->lag_of_ended}};
    for (const auto& [role, l] : f->leaves) {
      one.leaves[role] = status_of(l->lag, now);
      raise(one.lag, one.leaves[role]);
    }
    for (const auto& [name, ask] : f->asks) one.asks[name] = status_of(ask->lag, now);
    all.push_back(std::move(one));
  }
  return all;
}

std::map<RoleName, LagStatus> role_lags(const Cluster& cluster, Time now) {
  std::map<RoleName, LagStatus> all;
  for (const auto& [name, r] : cluster.tree.roles()) all[name].most = r->lag_of_ended;
  for (const auto& [id, l] : cluster.leaves) {
    const LagStatus lag = status_of(l->lag, now);
    for (const Role* role = l->role; role->parent != nullptr; role = role->parent) {
      raise(all[role->name], lag);
    }
  }
  return all;
}

LagStatus lag_of(const Role& role, Time now) {
  LagStatus lag{.most = role.lag_of_ended};
  for_each_leaf(role, [&](const Leaf& l) { raise(lag, status_of(l.lag, now)); });
  return lag;
}

std::vector<AskStatus> ask_statuses(const Cluster& cluster, const Waiting& waiting,
                                    const FrameworkId& id) {
  std::vector<AskStatus> all;
  const auto at = cluster.frameworks.find(id);
  if (at == cluster.frameworks.end()) return all;
  for (const auto& [role, l] : at->second->leaves) add_statuses(cluster, waiting, *l, all);
  return all;
}

std::vector<AgentUse> agent_uses(const Cluster& cluster) {
  std::vector<AgentUse> all;
  for (const auto& [id, a] : cluster.agents) {
    all.push_back({.agent = id,
                   .total = a->counted_total(),
                   .allocated = a->counted_allocated(),
                   .offered = a->counted_offered(),
                   .free = a->parts.empty() ? a->free_and_kept() : a->counted_free(),
                   .active = a->active});
    for (const AgentState::Withheld& one : a->withheld) {
      all.back().withheld.push_back({one.role, one.amounts, one.lasts});
    }
  }
  return all;
}

std::vector<EndingTask> ending_tasks(const Cluster& cluster) {
  std::vector<EndingTask> all;
  for (const auto& [id, a] : cluster.agents) {
    for (const auto& [ref, task] : a->tasks) {
      if (task.ends_by()) all.push_back({id, ref.framework, ref.task, *task.ends_by()});
    }
  }
  return all;
}

}  // namespace proffer::fair
