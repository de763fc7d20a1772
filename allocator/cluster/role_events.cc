// Roles and their settings; the use of leaves, and which leaves want offers.

#include <algorithm>

#include "allocator/cluster/cluster.h"
#include "common/check.h"

namespace proffer::fair {

Time later(Time now, Duration duration) {
  if (duration > Time::far_future() - now && now >= Time()) return Time::far_future();
  return now + duration;
}

Cluster::Cluster(AllocatorOptions given)
    : options(std::move(given)), role_table(options.roles), last_gang(options.gangs_before) {
  const Result<void> checked = check_roles(role_table);
  CHECK(checked.has_value()) << checked.error().message();
  for (const auto& [role, settings] : role_table) tree.set_settings(role, settings);
  shares_dirty = true;
}

void Cluster::catch_up() {
  entitlements_known = false;
  if (shares_dirty) rebuild_shares();
  if (!least_shape_dirty_) return;
  least_shape.reset();
  some_inflexible = false;
  for (const auto& [id, l] : leaves) {
    for (const AskEntry* ask : l->order) {
      some_inflexible = some_inflexible || ask->is_inflexible();
      least_shape = least_shape ? least_shape->min(ask->ask.shape) : ask->ask.shape;
    }
  }
  least_shape_dirty_ = false;
}

void Cluster::mark_dirty() {
  dirty = true;
  ++changes;
  entitlements_known = false;
}

Agent& Cluster::agent(const AgentId& id) const {
  const auto at = agents.find(id);
  CHECK(at != agents.end()) << "no agent " << id.str();
  return *at->second;
}

Framework& Cluster::framework(const FrameworkId& id) const {
  const auto at = frameworks.find(id);
  CHECK(at != frameworks.end()) << "no framework " << id.str();
  return *at->second;
}

std::optional<Time> Cluster::next_deadline() const {
  std::optional<Time> next;
  const auto consider = [&](Time at) { next = next ? std::min(*next, at) : at; };
  if (const auto expiry = outstanding.first_to_expire()) consider(expiry->first);
  forget_ended_filter_timers();
  if (!filter_timers_.empty()) consider(filter_timers_.front().at);
  if (!alarms_.empty()) consider(alarms_.begin()->at);
  // From then on the task may be preempted for the claim that it backfills.
  if (const auto at = lent_until_.upper_bound(decided_at); at != lent_until_.end()) consider(*at);
  return next;
}

void Cluster::set_role(const RoleName& role, const RoleSettings& settings) {
  const Result<void> checked = check_role(role_table, role, settings);
  CHECK(checked.has_value()) << checked.error().message();
  if (settings == RoleSettings()) {
    role_table.erase(role);
  } else {
    role_table[role] = settings;
  }
  mark_dirty();
  shares_dirty = true;
  ++settings_version;
  if (Role* known = tree.find(role)) {
    tree.forget_denied(*known);
  }
  tree.set_settings(role, settings);
  // A limit or a guarantee of another role that denied asks may permit them now.
  wake_all();
}

RoleSettings Cluster::settings_of(const RoleName& role) const {
  const auto at = role_table.find(role);
  return at == role_table.end() ? RoleSettings() : at->second;
}

void Cluster::set_knows_all_tasks(bool knows) {
  if (knows_all_tasks == knows) return;
  mark_dirty();
  knows_all_tasks = knows;
  wake_all();
}

void Cluster::wake_all() {
  ++claimable_version;
  for (const auto& [id, l] : leaves) {
    l->tried_at = 0;
    update_demand(*l, true);
  }
}

// Leaves with unmet guarantees may take resources on an agent with a claim; they look again after
// it has grown.
void Cluster::wake_promised(const Role& role) {
  for (Role* child : role.promised) {
    if (child->wanting == 0) continue;
    if (!child->has_guarantee()) {
      wake_promised(*child);
    } else if (has_unmet_guarantee(*child)) {
      for_each_leaf(*child, [&](Leaf& l) { update_demand(l, true); });
    }
  }
}

void Cluster::wake_held_back() {
  const std::set<Leaf*> all = std::move(held_back);
  held_back.clear();
  for (Leaf* l : all) {
    l->tried_at = 0;
    update_demand(*l, true);
  }
}

// Called at the beginning of a decision: wakes leaves whose denial may have ended.
void Cluster::wake_denied() {
  wake_held_back();
  for (Role* role : tree.take_relieved()) wake_denied_by(*role);
}

void Cluster::wake_denied_by(Role& role) {
  for (Leaf* l : tree.forget_denied(role)) {
    l->tried_at = 0;
    update_demand(*l, true);
  }
}

void Cluster::update_demand(Leaf& l, bool is_untried) {
  const bool wants = l.wants_offers();
  if (is_untried && l.stopped != 0) {
    stopped[l.stopped].erase(&l);
    l.stopped = 0;
    l.tried_at = 0;  // It has not looked at the changes meanwhile.
  }
  tree.set_wishes(l, wants,
                  {wants, wants && (is_untried || untried.contains(l)),
                   wants && l.mode == OfferMode::kOpen && l.stopped == 0, wants && may_be_owed(l)});
}

void Cluster::leave_orders(Leaf& l) {
  tree.set_wishes(l, l.wants, {false, false, open.contains(l), false});
}

void Cluster::note_owed(Leaf& l) {
  const bool is_in = demanding.contains(l) && may_be_owed(l);
  if (is_in != owed_leaves.contains(l)) is_in ? owed_leaves.insert(l) : owed_leaves.erase(l);
}

bool Cluster::may_be_owed(const Leaf& l) const {
  if (!some_lack || l.mode == OfferMode::kOpen) return false;
  for (const Role* role = l.role; promises_any() && role != nullptr; role = role->parent) {
    if (role->has_guarantee()) return true;
  }
  return std::any_of(l.order.begin(), l.order.end(),
                     [](const AskEntry* ask) { return ask->is_owed && ask->unmet() > 0; });
}

void Cluster::stop(Leaf& l, size_t kinds) {
  for (Role* role = l.role; role->parent != nullptr; role = role->parent) {
    if (role->has_limit()) tree.note_denied(*role, l);
  }
  l.stopped = kinds;
  stopped[kinds].insert(&l);
  untried.erase(l);
  open.erase(l);
}

bool Cluster::wake_stopped() {
  bool some = false;
  for (size_t kinds = 1; kinds < stopped.size(); ++kinds) {
    const uint64_t changed = free_agents.lacking_changed_at(kinds);
    if (std::exchange(lacking_seen_[kinds], changed) == changed) continue;
    const std::set<Leaf*> all = stopped[kinds];
    for (Leaf* l : all) update_demand(*l, true);
    some = some || !all.empty();
  }
  return some;
}

void Cluster::change_use(Leaf& l, const ResourceVector& allocated, const ResourceVector& offered) {
  if (&l == use_later_.leaf) {
    use_later_.allocated += allocated;
    use_later_.offered += offered;
    return;
  }
  tree.change_use(l, allocated, offered);
  note_lag_due(l);
  if (l.mode == OfferMode::kOpen) recount_implied(l);
}

void ClusterTotal::add(const ResourceVector& agent) {
  for (const ResourceKind kind : kResourceKinds) sums_[static_cast<size_t>(kind)] += agent[kind];
}

void ClusterTotal::remove(const ResourceVector& agent) {
  for (const ResourceKind kind : kResourceKinds) sums_[static_cast<size_t>(kind)] -= agent[kind];
}

ResourceVector ClusterTotal::amounts() const {
  ResourceVector amounts;
  for (const ResourceKind kind : kResourceKinds) {
    amounts[kind] =
        static_cast<int64_t>(std::min<Sum>(sums_[static_cast<size_t>(kind)], kAmountMax));
  }
  return amounts;
}

ResourceVector Cluster::usable_total() const {
  ResourceVector sum = total_now();
  for (const Agent* a : draining) {
    sum -= (a->counted_total() - a->counted_allocated()).max(ResourceVector());
  }
  return sum.max(ResourceVector());
}

void Cluster::rebuild_shares() {
  total = total_now();
  free_agents.weigh_anew(total);
  tree.rebuild(total);
  shares_dirty = false;
}

void Cluster::know_shares() const {
  if (shares_dirty) tree.rebuild(total_now());
}

}  // namespace proffer::fair
