// A framework comes, changes its mind or leaves; roles and their weights. declare_asks() first.

#include <algorithm>

#include "allocator/state.h"

namespace proffer {

void Allocator::State::add_framework(const FrameworkId& id, const RoleName& role, OfferMode mode) {
  CHECK(leaves_.find(id) == leaves_.end()) << "framework " << id.str() << " is there already";
  mark_dirty();
  std::unique_ptr<Role>& r = roles_[role];
  if (r == nullptr) {
    r = std::make_unique<Role>();
    r->name = role;
    r->weight = settings_of(role).weight;
  }
  ++r->leaves_count;
  auto l = std::make_unique<Leaf>();
  l->framework = id;
  l->role = r.get();
  l->mode = mode;
  compute_shares(*l);
  update_hunger(*l, true);
  if (mode == OfferMode::kOpen) open_leaves_.emplace(id, l.get());
  leaves_.emplace(id, std::move(l));
}

void Allocator::State::set_framework_active(const FrameworkId& id, bool active) {
  Leaf& l = leaf(id);
  if (l.active == active) return;
  mark_dirty();
  l.active = active;
  if (!active) rescind_all(l.offers, RescindReason::kFrameworkLost);
  for (AskEntry* ask : l.order) {
    if (!active) stop_waiting(*ask);
    ask->tried_at = 0;
  }
  l.tried_at = 0;
  update_hunger(l, true);
}

void Allocator::State::remove_framework(const FrameworkId& id) {
  Leaf& l = leaf(id);
  mark_dirty();
  // Nobody is there to hear of its offers.
  rescind_all(l.offers, RescindReason::kFrameworkLost);
  rescinds_.erase(std::remove_if(rescinds_.begin(), rescinds_.end(),
                                 [&](const Rescind& r) { return r.framework == id; }),
                  rescinds_.end());
  for (AskEntry* ask : l.order) stop_waiting(*ask);
  for (const auto& [name, a] : agents_) {
    const auto held = a->allocated_to.find(id);
    if (held == a->allocated_to.end()) continue;
    a->allocated.remove(held->second);
    a->allocated_to.erase(held);
    std::erase_if(a->tasks, [&](const auto& task) { return task.first.framework == id; });
    refresh(*a, true);
  }
  while (!l.filters.empty()) remove_filter(l, AgentId(l.filters.begin()->first));
  change_use(l, ResourceVector() - l.allocated, {});
  hungry_.erase(l);
  anew_.erase(l);
  if (--l.role->leaves_count == 0) roles_.erase(RoleName(l.role->name));
  least_shape_dirty_ = true;
  open_leaves_.erase(id);
  leaves_.erase(id);
}

void Allocator::State::declare_asks(const FrameworkId& id, std::vector<Ask> asks) {
  Leaf& l = leaf(id);
  mark_dirty();
  least_shape_dirty_ = true;
  const auto same_but_count = [](const Ask& a, Ask b) {
    b.count = a.count;
    return a == b;
  };
  std::map<AskName, std::unique_ptr<AskEntry>> before = std::move(l.asks);
  l.asks.clear();
  l.order.clear();
  bool anew = false;
  for (Ask& ask : asks) {
    std::unique_ptr<AskEntry>& entry = l.asks[ask.name];
    if (entry == nullptr) {
      const auto known = before.find(ask.name);
      if (known != before.end() && same_but_count(ask, known->second->ask)) {
        entry = std::move(known->second);
      }
    }
    if (entry == nullptr || !same_but_count(ask, entry->ask)) {
      // A name given twice: the later one counts.
      if (entry != nullptr) stop_waiting(*entry);
      Result<ConstraintMatcher> matcher = ConstraintMatcher::compile(ask.constraints);
      CHECK(matcher.has_value()) << ask.name.str() << ": " << matcher.error().message();
      entry = std::make_unique<AskEntry>();
      entry->leaf = &l;
      entry->matcher = *std::move(matcher);
      for (const OfferId& offer : l.offers) {
        for (const AskFill& fill : outstanding_.find(offer)->grant.offer.fills) {
          if (fill.ask == ask.name) entry->offered += fill.count;
        }
      }
      anew = true;
    }
    entry->place = static_cast<size_t>(&ask - asks.data());
    entry->ask = std::move(ask);
  }
  for (const auto& [name, gone] : before) {
    if (gone != nullptr) stop_waiting(*gone);
  }
  for (const auto& [name, entry] : l.asks) {
    l.order.push_back(entry.get());
    if (entry->unmet() == 0) stop_waiting(*entry);
  }
  l.sort_asks();
  // What was too little or wrong for other asks may be right for these.
  if (anew) {
    for (auto at = l.filters.begin(); at != l.filters.end();) {
      const bool has_reason = !at->second.until;
      at = has_reason ? l.filters.erase(at) : std::next(at);
      if (has_reason) ++claimable_version_;
    }
    for (AskEntry* ask : l.order) ask->tried_at = 0;
  }
  update_hunger(l, true);
}

void Allocator::State::suppress(const FrameworkId& id) {
  Leaf& l = leaf(id);
  mark_dirty();
  l.suppressed = true;
  for (AskEntry* ask : l.order) stop_waiting(*ask);
  update_hunger(l, false);
}

void Allocator::State::revive(const FrameworkId& id) {
  Leaf& l = leaf(id);
  mark_dirty();
  l.suppressed = false;
  while (!l.filters.empty()) remove_filter(l, AgentId(l.filters.begin()->first));
  for (AskEntry* ask : l.order) ask->tried_at = 0;
  l.tried_at = 0;
  update_hunger(l, true);
}

void Allocator::State::set_role(const RoleName& role, const RoleSettings& settings) {
  if (settings == RoleSettings()) {
    role_table_.erase(role);
  } else {
    role_table_[role] = settings;
  }
  const Result<void> checked = check_roles(role_table_);
  CHECK(checked.has_value()) << checked.error().message();
  mark_dirty();
  shares_dirty_ = true;
}

RoleSettings Allocator::State::settings_of(const RoleName& role) const {
  const auto at = role_table_.find(role);
  return at == role_table_.end() ? RoleSettings() : at->second;
}

void Allocator::State::set_knows_all_tasks(bool knows) {
  mark_dirty();
  knows_all_tasks_ = knows;
}

void Allocator::State::update_hunger(Leaf& l, bool anew) {
  if (!l.wants_offers()) {
    hungry_.erase(l);
    anew_.erase(l);
    return;
  }
  hungry_.insert(l);
  if (anew) anew_.insert(l);
}

void Allocator::State::change_use(Leaf& l, const ResourceVector& allocated,
                                  const ResourceVector& offered) {
  hungry_.before_change(l);
  anew_.before_change(l);
  l.allocated += allocated;
  l.role->allocated += allocated;
  l.offered += offered;
  l.role->offered += offered;
  CHECK(!l.allocated.has_negative() && !l.offered.has_negative()) << l.framework.str();
  compute_shares(l);
  hungry_.after_change(l);
  anew_.after_change(l);
}

void Allocator::State::compute_shares(Leaf& l) const {
  l.share = dominant_share(l.use(), total_);
  l.role->share = dominant_share(l.role->use(), total_, l.role->weight);
}

ResourceVector Allocator::State::compute_total() const {
  // Sums beyond kAmountMax, of agents that say wild things, count as that.
  ResourceVector sum;
  for (const auto& [id, a] : agents_) {
    sum += a->total.amounts;
    for (const ResourceKind kind : kResourceKinds) sum[kind] = std::min(sum[kind], kAmountMax);
  }
  return sum;
}

void Allocator::State::rebuild_shares() {
  std::vector<Leaf*> were_anew;
  for (const auto& [id, l] : leaves_) {
    if (anew_.contains(*l)) were_anew.push_back(l.get());
  }
  hungry_.clear();
  anew_.clear();
  for (const auto& [id, a] : agents_) free_.erase(*a);
  total_ = compute_total();
  for (const auto& [id, a] : agents_) free_.insert(*a, total_);
  for (const auto& [name, r] : roles_) r->weight = settings_of(name).weight;
  for (const auto& [id, l] : leaves_) compute_shares(*l);
  for (const auto& [id, l] : leaves_) update_hunger(*l, false);
  for (Leaf* l : were_anew) update_hunger(*l, true);
  shares_dirty_ = false;
}

}  // namespace proffer
