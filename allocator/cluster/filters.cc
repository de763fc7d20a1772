// A decline excludes an agent from a framework's offers: for a time, or, with a reason, until the
// reason is gone. is_filtered() (rules/fit.h) is the rule. There is one filter per framework and
// agent: the newest.

#include <algorithm>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {
namespace {

// Up to this number, timers without a filter are not worth a cleanup.
constexpr size_t kEndedTimersMax = 64;

}  // namespace

void Cluster::add_filter(Leaf& l, Agent& a, Filter filter) {
  remove_filter(l, a);
  Framework& f = *l.owner;
  // At the limit a new decline has no effect: the framework is offered the agent again.
  if (f.filter_count >= kFiltersPerFrameworkMax) return;
  if (f.declines.size() <= a.slot) f.declines.resize(a.slot + 1);
  Framework::Decline& decline = f.declines[a.slot];
  ++f.filter_count;
  ++claimable_version;
  if (!filter.until) {
    decline.filtered = Framework::Filtered::kForAReason;
    if (!filter.of_piece.empty()) f.declined_pieces.insert(&a);
    f.reasons.emplace(a.id, std::move(filter));
    return;
  }
  decline = {Framework::Filtered::kForATime, *filter.until};
  ++timed_filters_;
  if (filter_timers_.size() > 2 * timed_filters_ + kEndedTimersMax) {
    forget_filter_timers([](const FilterTimer& timer) { return !is_due_once(timer); });
  }
  filter_timers_.push_back({*filter.until, &f, &a});
  std::push_heap(filter_timers_.begin(), filter_timers_.end());
}

void Cluster::remove_filter(Leaf& l, Agent& a) {
  Framework& f = *l.owner;
  const Framework::Filtered filtered = f.filtered_on(a);
  if (filtered == Framework::Filtered::kNo) return;
  f.declines[a.slot].filtered = Framework::Filtered::kNo;
  if (filtered == Framework::Filtered::kForATime) --timed_filters_;
  if (filtered == Framework::Filtered::kForAReason) f.reasons.erase(a.id);
  f.declined_pieces.erase(&a);
  --f.filter_count;
  ++claimable_version;
}

void Cluster::clear_filters(Framework& f) {
  timed_filters_ -= f.filter_count - f.reasons.size();
  claimable_version += f.filter_count;
  f.declines.clear();
  f.reasons.clear();
  f.declined_pieces.clear();
  f.filter_count = 0;
}

void Cluster::end_filters_of_pieces(Leaf& l, const ResourceVector& most) {
  const AgentSet declined = l.owner->declined_pieces;
  for (Agent* a : declined) {
    const std::map<ResourceKind, int64_t>& piece = l.owner->reasons.at(a->id).of_piece;
    const ResourceVector now = sum_of(a->usable(l.role->name)).amounts.min(most);
    const bool has_grown = std::all_of(piece.begin(), piece.end(), [&](const auto& kind) {
      return now[kind.first] > kind.second;
    });
    if (!has_grown) continue;
    remove_filter(l, *a);
    l.retry.insert(a);
    update_demand(l, true);
  }
}

bool Cluster::is_due_once(const FilterTimer& timer) {
  const Framework& f = *timer.framework;
  return f.filtered_on(*timer.agent) == Framework::Filtered::kForATime &&
         f.declines[timer.agent->slot].until == timer.at;
}

void Cluster::forget_ended_filter_timers() const {
  while (!filter_timers_.empty() && !is_due_once(filter_timers_.front())) {
    std::pop_heap(filter_timers_.begin(), filter_timers_.end());
    filter_timers_.pop_back();
  }
}

void Cluster::forget_filter_timers(const std::function<bool(const FilterTimer&)>& which) const {
  std::erase_if(filter_timers_, which);
  std::make_heap(filter_timers_.begin(), filter_timers_.end());
}

// "Too little" filters compare with amounts that are free for any role. If a reservation comes,
// moves or ends, these say nothing about the amounts that a framework sees. O(frameworks).
void Cluster::forget_too_little(Agent& a) {
  for (const auto& [id, f] : frameworks) {
    const auto at = f->reasons.find(a.id);
    if (at == f->reasons.end() || at->second.too_little.empty()) continue;
    remove_filter(*f->own, a);
    for (const auto& [role, l] : f->leaves) {
      l->retry.insert(&a);
      update_demand(*l, true);
    }
  }
}

void Cluster::end_filters(Time now) {
  while (true) {
    forget_ended_filter_timers();
    if (filter_timers_.empty() || filter_timers_.front().at > now) return;
    const FilterTimer timer = filter_timers_.front();
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
