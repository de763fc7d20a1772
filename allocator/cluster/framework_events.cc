// Events of frameworks and their asks. Begin with declare_asks().

#include <algorithm>

#include "allocator/cluster/cluster.h"
#include "common/check.h"

namespace proffer::fair {

void Cluster::add_framework(const FrameworkId& id, const RoleName& role, OfferMode mode) {
  CHECK(frameworks.find(id) == frameworks.end()) << "framework " << id.str() << " is there already";
  mark_dirty();
  auto made = std::make_unique<Framework>();
  Framework& f = *made;
  f.id = id;
  f.role = role;
  f.mode = mode;
  frameworks.emplace(id, std::move(made));
  f.own = &leaf_in(f, role);
  if (mode == OfferMode::kOpen) {
    ++asks_version;  // Its demand may be unlimited.
    if (open_frameworks++ == 0) free_agents.begin_freest_first();
  }
  update_demand(*f.own, true);
  note_lag_due(*f.own);
}

Leaf& Cluster::leaf_in(Framework& f, const RoleName& role) {
  CHECK(is_within(role, f.role)) << role.str() << " is not within the role of " << f.id.str();
  if (const auto known = f.leaves.find(role); known != f.leaves.end()) return *known->second;
  auto made = std::make_unique<Leaf>();
  Leaf& l = *made;
  l.framework = f.id;
  l.owner = &f;
  l.mode = f.mode;
  tree.join(l, role);
  f.leaves.emplace(role, &l);
  leaves.emplace(LeafId{f.id, role}, std::move(made));
  return l;
}

void Cluster::remove_leaf(Leaf& l, Time now) {
  const LeafId id{l.framework, l.role->name};
  const Duration lag = l.lag.most_at(now);
  l.owner->lag_of_ended = std::max(l.owner->lag_of_ended, lag);
  for (Role* role = l.role; role != nullptr; role = role->parent) {
    role->lag_of_ended = std::max(role->lag_of_ended, lag);
  }
  if (l.is_lag_due) std::erase(leaves_with_lag_due, &l);
  held_back.erase(&l);
  if (l.stopped != 0) stopped[l.stopped].erase(&l);
  l.owner->leaves.erase(id.role);
  tree.part(l);
  leaves.erase(id);
}

void Cluster::doubt(const Leaf& l) {
  if (&l != l.owner->own) doubtful_.push_back({l.framework, l.role->name});
}

void Cluster::remove_doubtful(Time now) {
  for (const LeafId& id : doubtful_) {
    const auto at = leaves.find(id);
    if (at != leaves.end() && !at->second->is_needed()) remove_leaf(*at->second, now);
  }
  doubtful_.clear();
}

void Cluster::set_framework_active(Framework& f, bool active) {
  mark_dirty();
  ++asks_version;
  f.active = active;
  note_lags_due(f);
  for (const auto& [role, l] : f.leaves) {
    if (!active) rescind_all(offers_of(*l), RescindReason::kFrameworkLost);
    for (AskEntry* ask : l->order) ask->tried_at = 0;
    l->tried_at = 0;
    update_demand(*l, true);
  }
}

void Cluster::withdraw_framework(Framework& f) {
  mark_dirty();
  ++asks_version;
  // The framework cannot answer its offers.
  for (const auto& [role, l] : f.leaves) rescind_all(offers_of(*l), RescindReason::kFrameworkLost);
  rescinds.erase(std::remove_if(rescinds.begin(), rescinds.end(),
                                [&](const Rescind& r) { return r.framework == f.id; }),
                 rescinds.end());
}

void Cluster::remove_framework(const FrameworkId& id) {
  Framework& f = framework(id);
  for (const auto& [name, ask] : f.asks) {
    end_ask(*ask);
    forget_ask(*ask);
  }
  f.implied = nullptr;
  for (const auto& [name, a] : agents) {
    auto task = a->tasks.lower_bound(TaskRef{id, TaskId()});
    if (task == a->tasks.end() || task->first.framework != id) continue;
    while (task != a->tasks.end() && task->first.framework == id) {
      forget_notice(*a, task->first, task->second);
      a->end_allocated(task->second.booked());
      task = a->tasks.erase(task);
    }
    std::erase_if(a->allocated_to, [&](const Agent::Use& use) { return use.framework == &f; });
    a->count_free_ports();
    refresh(*a, true);
  }
  std::erase_if(vacated, [&](const Vacated& place) { return place.framework == &f; });
  clear_filters(f);
  forget_filter_timers([&](const FilterTimer& timer) { return timer.framework == &f; });
  least_shape_dirty_ = true;
  if (f.mode == OfferMode::kOpen && --open_frameworks == 0) free_agents.end_freest_first();
  while (!f.leaves.empty()) {
    Leaf& l = *f.leaves.begin()->second;
    change_use(l, ResourceVector() - l.allocated, {});
    remove_leaf(l, decided_at);
  }
  frameworks.erase(id);
}

namespace {

// Only one task at a time can have a static port, also while offers for it are outstanding.
void bound_by_static_ports(Ask& ask) {
  if (ask.static_ports.empty()) return;
  const auto at = std::lower_bound(
      ask.max_per.begin(), ask.max_per.end(), "host",
      [](const MaxPer& one, std::string_view attribute) { return one.attribute < attribute; });
  if (at != ask.max_per.end() && at->attribute == "host") {
    at->count = 1;
  } else {
    ask.max_per.insert(at, {.attribute = "host", .count = 1});
  }
}

}  // namespace

std::vector<std::unique_ptr<AskEntry>> Cluster::declare_asks(const FrameworkId& id,
                                                             std::vector<Ask> asks, Time now) {
  Framework& f = framework(id);
  mark_dirty();
  least_shape_dirty_ = true;
  const auto same_but_count = [](Ask& a, const Ask& b) {
    const int64_t count = std::exchange(a.count, b.count);
    const bool same = a == b;
    a.count = count;
    return same;
  };
  std::map<AskName, std::unique_ptr<AskEntry>> before = std::move(f.asks);
  f.asks.clear();
  std::vector<std::unique_ptr<AskEntry>> gone;
  const auto end = [&](std::unique_ptr<AskEntry>& entry) {
    end_ask(*entry);
    gone.push_back(std::move(entry));
  };
  bool some_new = false;
  for (Ask& ask : asks) {
    bound_by_static_ports(ask);
    std::unique_ptr<AskEntry>& entry = f.asks[ask.name];
    if (entry == nullptr) {
      const auto known = before.find(ask.name);
      if (known != before.end() && known->second != nullptr) {
        if (same_but_count(ask, known->second->ask)) {
          entry = std::move(known->second);
        } else {
          end(known->second);
        }
      }
    }
    const bool is_known = entry != nullptr && same_but_count(ask, entry->ask);
    if (!is_known) {
      // If two asks have the same name, the later one counts.
      if (entry != nullptr) end(entry);
      entry = make_ask(f, ask);
      some_new = true;
      entry->ask = ask;
      begin_ask(*entry, now);
    }
    // An ask that wants tasks again begins a new locality wait.
    const bool was_met = entry->unmet() == 0;
    if (options.placement == Placement::kFgd) {
      workload.note(ask.shape, ask.count - (is_known ? entry->ask.count : 0));
    }
    entry->place = static_cast<size_t>(&ask - asks.data());
    entry->ask = std::move(ask);
    if (was_met && entry->unmet() > 0) prefer_again(*entry, now);
  }
  for (auto& [name, entry] : before) {
    if (entry == nullptr) continue;
    if (entry->is_implied()) {
      f.asks[name] = std::move(entry);
    } else {
      end(entry);
    }
  }
  for (const auto& [role, l] : f.leaves) l->order.clear();
  for (const auto& [name, entry] : f.asks) {
    entry->leaf->order.push_back(entry.get());
  }
  if (some_new || !gone.empty()) {
    ++asks_version;
    recount_groups(f);
  }
  note_lags_due(f);
  for (const auto& [name, ask] : f.asks) {
    if (ask->changes_entitlements()) entitlements_old = true;
  }
  // Amounts or agents that did not suit other asks may suit these.
  if (some_new) {
    while (!f.reasons.empty()) remove_filter(*f.own, agent(f.reasons.begin()->first));
    for (const auto& [name, ask] : f.asks) ask->tried_at = 0;
  }
  for (const auto& [role, l] : f.leaves) {
    l->sort_asks();
    update_demand(*l, true);
    doubt(*l);
  }
  return gone;
}

void Cluster::forget_ask(const AskEntry& ask) {
  CHECK(ask.set_aside.empty()) << ask.ask.name.str();
  free_slots_.push_back(ask.slot);
  if (ask.is_recounted) std::erase(recounted, &ask);
  if (ask.is_lag_due) std::erase(asks_with_lag_due, &ask);
  if (!ask.lag.waits()) return;
  --ask.leaf->waiting_asks;
  note_lag_due(*ask.leaf);
}

std::unique_ptr<AskEntry> Cluster::make_ask(Framework& f, const Ask& ask) {
  Result<ConstraintMatcher> matcher = ConstraintMatcher::compile(ask.constraints);
  CHECK(matcher.has_value()) << ask.name.str() << ": " << matcher.error().message();
  auto entry = std::make_unique<AskEntry>();
  if (free_slots_.empty()) {
    entry->slot = slots_++;
  } else {
    entry->slot = free_slots_.back();
    free_slots_.pop_back();
  }
  entry->leaf = &leaf_in(f, ask.role.empty() ? f.role : ask.role);
  entry->matcher = *std::move(matcher);
  for (const auto& [role, l] : f.leaves) {
    for (const OfferId& offer : offers_of(*l)) {
      for (const AskFill& fill : outstanding.find(offer)->grant->offer.fills) {
        if (fill.ask == ask.name) entry->offered += fill.count;
      }
    }
  }
  return entry;
}

void Cluster::suppress(Framework& f) {
  mark_dirty();
  ++asks_version;
  f.suppressed = true;
  note_lags_due(f);
  for (const auto& [role, l] : f.leaves) update_demand(*l, false);
}

void Cluster::revive(Framework& f) {
  mark_dirty();
  ++asks_version;
  f.suppressed = false;
  note_lags_due(f);
  clear_filters(f);
  for (const auto& [name, ask] : f.asks) ask->tried_at = 0;
  for (const auto& [role, l] : f.leaves) {
    l->tried_at = 0;
    update_demand(*l, true);
  }
}

void Cluster::pause(Framework& f, bool paused) {
  if (f.paused == paused) return;
  mark_dirty();
  ++asks_version;
  f.paused = paused;
  note_lags_due(f);
  for (const auto& [name, ask] : f.asks) ask->tried_at = 0;
  for (const auto& [role, l] : f.leaves) {
    l->tried_at = 0;
    update_demand(*l, !paused);
  }
}

void Cluster::pause(AskEntry& ask, bool paused) {
  if (ask.paused == paused) return;
  mark_dirty();
  ask.paused = paused;
  note_lag_due(ask);
  ask.tried_at = 0;
  if (ask.changes_entitlements()) entitlements_old = true;
  update_demand(*ask.leaf, !paused);
}

}  // namespace proffer::fair
