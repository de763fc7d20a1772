// A decline keeps an agent away from a framework: for a time, or, with a reason, until the reason
// is gone. is_filtered() (rules/fit.h) is the rule. One filter per framework and agent: the newest.

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

void Cluster::add_filter(Leaf& l, Agent& a, Filter filter) {
  remove_filter(l, a);
  // At the limit the framework is offered more often than it likes; nothing else happens.
  if (l.owner->filters.size() >= kFiltersPerFrameworkMax) return;
  if (filter.until) filter_timers_.insert({*filter.until, l.owner, &a});
  std::vector<Framework::Filtered>& filtered = l.owner->filtered;
  if (filtered.size() <= a.slot) filtered.resize(a.slot + 1);
  filtered[a.slot] =
      filter.until ? Framework::Filtered::kForATime : Framework::Filtered::kForAReason;
  l.owner->filters.emplace(a.id, std::move(filter));
  ++claimable_version;
}

void Cluster::remove_filter(Leaf& l, Agent& a) {
  if (l.owner->filtered_on(a) == Framework::Filtered::kNo) return;
  l.owner->filtered[a.slot] = Framework::Filtered::kNo;
  const auto at = l.owner->filters.find(a.id);
  if (at == l.owner->filters.end()) return;
  if (at->second.until) filter_timers_.erase({*at->second.until, l.owner, &a});
  l.owner->filters.erase(at);
  ++claimable_version;
}

// What it had too little of counts what was free for anybody. Where something is reserved for
// another role than before, or for nobody, that says nothing about what a framework would see.
// O(frameworks).
void Cluster::forget_too_little(Agent& a) {
  for (const auto& [id, f] : frameworks) {
    const auto at = f->filters.find(a.id);
    if (at == f->filters.end() || at->second.too_little.empty()) continue;
    remove_filter(*f->own, a);
    for (const auto& [role, l] : f->leaves) {
      l->retry.insert(&a);
      update_demand(*l, true);
    }
  }
}

void Cluster::end_filters(Time now) {
  while (!filter_timers_.empty() && filter_timers_.begin()->at <= now) {
    const FilterTimer timer = *filter_timers_.begin();
    ++changes;
    Framework& f = *timer.framework;
    remove_filter(*f.own, *timer.agent);
    for (const auto& [role, l] : f.leaves) {
      l->retry.insert(timer.agent);
      update_demand(*l, true);
    }
  }
}

}  // namespace proffer::fair
