// A framework comes, changes its mind or leaves. declare_asks() first.

#include <algorithm>

#include "allocator/state.h"

namespace proffer {

void Allocator::State::add_framework(const FrameworkId& id, const RoleName& role, OfferMode mode) {
  CHECK(frameworks_.find(id) == frameworks_.end())
      << "framework " << id.str() << " is there already";
  mark_dirty();
  auto made = std::make_unique<Framework>();
  Framework& f = *made;
  f.id = id;
  f.role = role;
  f.mode = mode;
  frameworks_.emplace(id, std::move(made));
  f.own = &leaf_in(f, role);
  if (mode == OfferMode::kOpen) open_leaves_.emplace(id, f.own);
  update_hunger(*f.own, true);
}

fair::Leaf& Allocator::State::leaf_in(Framework& f, const RoleName& role) {
  CHECK(is_within(role, f.role)) << role.str() << " is not within the role of " << f.id.str();
  if (const auto known = f.leaves.find(role); known != f.leaves.end()) return *known->second;
  auto made = std::make_unique<Leaf>();
  Leaf& l = *made;
  l.framework = f.id;
  l.owner = &f;
  l.mode = f.mode;
  tree_.join(l, role);
  f.leaves.emplace(role, &l);
  leaves_.emplace(fair::LeafId{f.id, role}, std::move(made));
  return l;
}

void Allocator::State::remove_leaf(Leaf& l) {
  const fair::LeafId id{l.framework, l.role->name};
  held_back_.erase(&l);
  l.owner->leaves.erase(id.role);
  tree_.part(l);
  leaves_.erase(id);
}

void Allocator::State::doubt(const Leaf& l) {
  if (&l != l.owner->own) doubtful_.push_back({l.framework, l.role->name});
}

void Allocator::State::remove_doubtful() {
  for (const fair::LeafId& id : doubtful_) {
    const auto at = leaves_.find(id);
    if (at != leaves_.end() && !at->second->is_needed()) remove_leaf(*at->second);
  }
  doubtful_.clear();
}

void Allocator::State::set_framework_active(const FrameworkId& id, bool active) {
  Framework& f = framework_at(id);
  if (f.active == active) return;
  mark_dirty();
  f.active = active;
  for (const auto& [role, l] : f.leaves) {
    if (!active) rescind_all(l->offers, RescindReason::kFrameworkLost);
    for (AskEntry* ask : l->order) {
      if (!active) stop_waiting(*ask);
      ask->tried_at = 0;
    }
    l->tried_at = 0;
    update_hunger(*l, true);
  }
}

void Allocator::State::remove_framework(const FrameworkId& id) {
  Framework& f = framework_at(id);
  mark_dirty();
  // Nobody is there to hear of its offers.
  for (const auto& [role, l] : f.leaves) rescind_all(l->offers, RescindReason::kFrameworkLost);
  rescinds_.erase(std::remove_if(rescinds_.begin(), rescinds_.end(),
                                 [&](const Rescind& r) { return r.framework == id; }),
                  rescinds_.end());
  for (const auto& [name, ask] : f.asks) end_ask(*ask);
  for (const auto& [name, a] : agents_) {
    auto task = a->tasks.lower_bound({id, TaskId()});
    if (task == a->tasks.end() || task->first.framework != id) continue;
    while (task != a->tasks.end() && task->first.framework == id) {
      forget_notice(*a, task->first, task->second);
      a->end_allocated(task->second);
      task = a->tasks.erase(task);
    }
    a->allocated_to.erase(id);
    refresh(*a, true);
  }
  while (!f.filters.empty()) remove_filter(*f.own, AgentId(f.filters.begin()->first));
  least_shape_dirty_ = true;
  open_leaves_.erase(id);
  while (!f.leaves.empty()) {
    Leaf& l = *f.leaves.begin()->second;
    change_use(l, ResourceVector() - l.allocated, {});
    remove_leaf(l);
  }
  frameworks_.erase(id);
}

void Allocator::State::declare_asks(const FrameworkId& id, std::vector<Ask> asks, Time now) {
  Framework& f = framework_at(id);
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
  bool anew = false;
  for (Ask& ask : asks) {
    std::unique_ptr<AskEntry>& entry = f.asks[ask.name];
    if (entry == nullptr) {
      const auto known = before.find(ask.name);
      if (known != before.end() && known->second != nullptr) {
        if (same_but_count(ask, known->second->ask)) {
          entry = std::move(known->second);
        } else {
          end_ask(*known->second);  // Its timers go by name, and the new one may have the same.
        }
      }
    }
    if (entry == nullptr || !same_but_count(ask, entry->ask)) {
      // A name given twice: the later one counts.
      if (entry != nullptr) end_ask(*entry);
      entry = make_ask(f, ask);
      anew = true;
      entry->ask = ask;
      begin_ask(*entry, now);
    }
    // One that wants something again waits again for where it would rather be.
    const bool was_met = entry->unmet() == 0;
    entry->place = static_cast<size_t>(&ask - asks.data());
    entry->ask = std::move(ask);
    if (was_met && entry->unmet() > 0) prefer_again(*entry, now);
  }
  for (const auto& [name, gone] : before) {
    if (gone != nullptr) end_ask(*gone);
  }
  for (const auto& [role, l] : f.leaves) l->order.clear();
  for (const auto& [name, entry] : f.asks) {
    entry->leaf->order.push_back(entry.get());
    if (entry->unmet() == 0) stop_waiting(*entry);
  }
  // What was too little or wrong for other asks may be right for these.
  if (anew) {
    for (auto at = f.filters.begin(); at != f.filters.end();) {
      const bool has_reason = !at->second.until;
      at = has_reason ? f.filters.erase(at) : std::next(at);
      if (has_reason) ++claimable_version_;
    }
    for (const auto& [name, ask] : f.asks) ask->tried_at = 0;
  }
  for (const auto& [role, l] : f.leaves) {
    l->sort_asks();
    update_hunger(*l, true);
    doubt(*l);
  }
}

std::unique_ptr<fair::AskEntry> Allocator::State::make_ask(Framework& f, const Ask& ask) {
  Result<ConstraintMatcher> matcher = ConstraintMatcher::compile(ask.constraints);
  CHECK(matcher.has_value()) << ask.name.str() << ": " << matcher.error().message();
  auto entry = std::make_unique<AskEntry>();
  entry->leaf = &leaf_in(f, ask.role.empty() ? f.role : ask.role);
  entry->matcher = *std::move(matcher);
  for (const auto& [role, l] : f.leaves) {
    for (const OfferId& offer : l->offers) {
      for (const AskFill& fill : outstanding_.find(offer)->grant.offer.fills) {
        if (fill.ask == ask.name) entry->offered += fill.count;
      }
    }
  }
  return entry;
}

void Allocator::State::suppress(const FrameworkId& id) {
  Framework& f = framework_at(id);
  mark_dirty();
  f.suppressed = true;
  for (const auto& [name, ask] : f.asks) stop_waiting(*ask);
  for (const auto& [role, l] : f.leaves) update_hunger(*l, false);
}

void Allocator::State::revive(const FrameworkId& id) {
  Framework& f = framework_at(id);
  mark_dirty();
  f.suppressed = false;
  while (!f.filters.empty()) remove_filter(*f.own, AgentId(f.filters.begin()->first));
  for (const auto& [name, ask] : f.asks) ask->tried_at = 0;
  for (const auto& [role, l] : f.leaves) {
    l->tried_at = 0;
    update_hunger(*l, true);
  }
}

}  // namespace proffer
