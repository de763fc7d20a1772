// A decline keeps an agent away from a framework: for a time, or, with a reason, until the reason
// is gone. is_filtered() is the rule. One filter per framework and agent: the newest.

#include <algorithm>

#include "allocator/state.h"

namespace proffer {

bool Allocator::State::is_filtered(const Leaf& l, const Agent& a, Time now) const {
  const auto& filters = l.owner->filters;
  if (filters.empty()) return false;
  const auto at = filters.find(a.id);
  if (at == filters.end()) return false;
  const Filter& filter = at->second;
  if (filter.until) return now < *filter.until;
  if (filter.wrong_agent && *filter.wrong_agent == a.attributes) return true;
  return std::any_of(filter.too_little.begin(), filter.too_little.end(), [&](const auto& kind) {
    return a.counted_free_of(kind.first) <= kind.second;
  });
}

void Allocator::State::add_filter(Leaf& l, Agent& a, Filter filter) {
  remove_filter(l, a.id);
  // At the limit the framework is offered more often than it likes; nothing else happens.
  if (l.owner->filters.size() >= kFiltersPerFrameworkMax) return;
  if (filter.until) filter_timers_.insert({*filter.until, l.framework, a.id});
  l.owner->filters.emplace(a.id, std::move(filter));
  ++claimable_version_;
  // What it does not want, it does not wait for.
  for (const auto& [role, any] : l.owner->leaves) {
    if (any->claimed != nullptr && any->claimed->claims(a)) drop_claim(*any->claimed);
  }
}

void Allocator::State::remove_filter(Leaf& l, const AgentId& a) {
  const auto at = l.owner->filters.find(a);
  if (at == l.owner->filters.end()) return;
  if (at->second.until) filter_timers_.erase({*at->second.until, l.framework, a});
  l.owner->filters.erase(at);
  ++claimable_version_;
}

// What it had too little of counts what was free for anybody. Where something is reserved for
// another role than before, or for nobody, that says nothing about what a framework would see.
// O(frameworks).
void Allocator::State::forget_too_little(Agent& a) {
  for (const auto& [id, f] : frameworks_) {
    const auto at = f->filters.find(a.id);
    if (at == f->filters.end() || at->second.too_little.empty()) continue;
    remove_filter(*f->own, a.id);
    for (const auto& [role, l] : f->leaves) {
      l->retry.insert(&a);
      update_hunger(*l, true);
    }
  }
}

void Allocator::State::end_filters(Time now) {
  while (!filter_timers_.empty() && filter_timers_.begin()->at <= now) {
    const FilterTimer timer = *filter_timers_.begin();
    ++changes_;
    Framework& f = framework_at(timer.framework);
    remove_filter(*f.own, timer.agent);
    for (const auto& [role, l] : f.leaves) {
      l->retry.insert(&agent(timer.agent));
      update_hunger(*l, true);
    }
  }
}

}  // namespace proffer
