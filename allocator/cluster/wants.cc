// Times and places of asks: their expiry, their locality wait, and counts of their tasks by place.
// Begin with begin_ask() and fire_alarms().

#include <algorithm>
#include <tuple>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

void Cluster::begin_ask(AskEntry& ask, Time now) {
  ask.prefers_since = now;
  if (ask.ask.expiry > Duration()) ask.expires = later(now, ask.ask.expiry);
  ask.counts = TaskCounts(ask.ask);
  ask.placed = ask.offered + count_running(ask);
  note_recounted(ask);
  if (ask.counts.counts_any()) count_all_tasks(ask);
  set_alarm(ask, now);
}

void Cluster::end_ask(AskEntry& ask) {
  if (ask.alarm) alarms_.erase({*ask.alarm, &ask});
  ask.alarm.reset();
}

// Restarts the locality wait of the ask.
void Cluster::prefer_again(AskEntry& ask, Time now) {
  if (ask.ask.prefer.empty()) return;
  ask.prefers_since = now;
  set_alarm(ask, now);
}

void Cluster::set_alarm(AskEntry& ask, Time now) {
  if (ask.alarm) alarms_.erase({*ask.alarm, &ask});
  ask.alarm.reset();
  if (ask.only_preferred(now)) ask.alarm = later(ask.prefers_since, ask.ask.prefer.wait);
  if (ask.expires && !ask.expired && (!ask.alarm || *ask.expires < *ask.alarm)) {
    ask.alarm = ask.expires;
  }
  if (ask.alarm) alarms_.insert({*ask.alarm, &ask});
}

std::vector<AskEntry*> Cluster::fire_alarms(Time now) {
  std::vector<AskEntry*> expired;
  while (!alarms_.empty() && alarms_.begin()->at <= now) {
    AskEntry& ask = *alarms_.begin()->ask;
    if (ask.expires && *ask.expires <= now) {
      if (!ask.expired) expired.push_back(&ask);
      ask.expired = true;
      note_lag_due(ask);
    }
    ask.tried_at = 0;  // Its locality wait is over.
    set_alarm(ask, now);
    update_demand(*ask.leaf, true);
  }
  return expired;
}

bool Cluster::Alarm::operator<(const Alarm& o) const {
  return std::tie(at, ask->leaf->framework, ask->ask.name) <
         std::tie(o.at, o.ask->leaf->framework, o.ask->ask.name);
}

// O(agents) if the framework runs tasks.
int64_t Cluster::count_running(const AskEntry& ask) const {
  const auto& leaves_of = ask.leaf->owner->leaves;
  const bool some_run = std::any_of(leaves_of.begin(), leaves_of.end(),
                                    [](const auto& l) { return l.second->tasks > 0; });
  if (!some_run) return 0;
  const FrameworkId& of = ask.leaf->framework;
  int64_t count = 0;
  for (const auto& [id, a] : agents) {
    for (auto at = a->tasks.lower_bound(TaskRef{of, TaskId()});
         at != a->tasks.end() && at->first.framework == of; ++at) {
      if (at->second.ask() == ask.ask.name) ++count;
    }
  }
  return count;
}

void Cluster::note_recounted(AskEntry& ask) {
  if (!ask.is_recounted) recounted.push_back(&ask);
  ask.is_recounted = true;
  note_lag_due(ask);
}

void Cluster::note_lag_due(AskEntry& ask) {
  if (!ask.is_lag_due) asks_with_lag_due.push_back(&ask);
  ask.is_lag_due = true;
}

void Cluster::note_lag_due(Leaf& l) {
  if (!l.is_lag_due) leaves_with_lag_due.push_back(&l);
  l.is_lag_due = true;
}

// The demand of the framework's asks may have changed.
void Cluster::note_lags_due(const Framework& f) {
  for (const auto& [name, ask] : f.asks) note_lag_due(*ask);
  for (const auto& [role, l] : f.leaves) note_lag_due(*l);
}

void Cluster::clear_lags_due() {
  for (AskEntry* ask : asks_with_lag_due) ask->is_lag_due = false;
  for (Leaf* l : leaves_with_lag_due) l->is_lag_due = false;
  asks_with_lag_due.clear();
  leaves_with_lag_due.clear();
}

void Cluster::count_tasks(AskEntry& ask, const Agent& a, int64_t count) {
  ask.placed += count;
  note_recounted(ask);
  if (ask.changes_entitlements()) entitlements_old = true;
  if (ask.ask.group.empty()) return count_together(ask, a, count);
  for (const auto& [name, other] : ask.leaf->owner->asks) {
    if (other->ask.group == ask.ask.group) count_together(*other, a, count);
  }
}

void Cluster::count_together(AskEntry& ask, const Agent& a, int64_t count) {
  if (!ask.counts.counts_any()) return;
  ask.counts.add(a, count);
  if (count >= 0 || ask.ask.max_per.empty()) return;
  // Agents that have not changed may have room for it.
  ask.tried_at = 0;
  ++claimable_version;
  update_demand(*ask.leaf, true);
}

// The members of a group of asks have changed.
void Cluster::recount_groups(Framework& f) {
  for (const auto& [name, ask] : f.asks) {
    if (ask->ask.group.empty() || !ask->counts.counts_any()) continue;
    count_all_tasks(*ask);
    ask->tried_at = 0;
  }
}

// Counts from scratch. O(agents + tasks of the framework), with one look at the ask of each task.
void Cluster::count_all_tasks(AskEntry& ask) const {
  ask.counts = TaskCounts(ask.ask);
  const FrameworkId& framework = ask.leaf->framework;
  const auto counts = [&](const AskName& name) {
    if (name == ask.ask.name) return true;
    if (ask.ask.group.empty()) return false;
    const auto& asks = ask.leaf->owner->asks;
    const auto other = asks.find(name);
    return other != asks.end() && other->second != nullptr &&
           other->second->ask.group == ask.ask.group;
  };
  for (const auto& [id, a] : agents) {
    int64_t count = 0;
    for (auto at = a->tasks.lower_bound(TaskRef{framework, TaskId()});
         at != a->tasks.end() && at->first.framework == framework; ++at) {
      if (counts(at->second.ask())) ++count;
    }
    if (count > 0) ask.counts.add(*a, count);
  }
  for (const auto& [role, l] : ask.leaf->owner->leaves) {
    for (const OfferId& id : offers_of(*l)) {
      const OutstandingOffer& offer = *outstanding.find(id);
      for (const AskFill& fill : offer.grant->offer.fills) {
        if (counts(fill.ask)) ask.counts.add(*offer.agent, fill.count);
      }
    }
  }
}

// The agent's attributes have changed. O(asks that count * agents), but rare.
void Cluster::recount_tasks_on(const Agent& a) {
  if (a.tasks.empty()) return;
  for (const auto& [id, l] : leaves) {
    for (AskEntry* ask : l->order) {
      if (!ask->counts.counts_any()) continue;
      count_all_tasks(*ask);
      ask->tried_at = 0;
      update_demand(*l, true);
    }
  }
}

}  // namespace proffer::fair
