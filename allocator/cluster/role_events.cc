// Roles and what an operator says of them; which leaf holds what, and who wants offers.

#include <algorithm>

#include "allocator/state.h"

namespace proffer {

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
  ++settings_version_;
  if (Role* known = tree_.find(role)) {
    known->blocked.clear();
    blocking_.erase(known);
  }
  tree_.set_settings(role, settings);
  if (Role* known = tree_.find(role)) drop_useless_headroom(*known);
  // What a limit or the guarantee of another kept away may be allowed now.
  wake_all();
}

RoleSettings Allocator::State::settings_of(const RoleName& role) const {
  const auto at = role_table_.find(role);
  return at == role_table_.end() ? RoleSettings() : at->second;
}

void Allocator::State::set_knows_all_tasks(bool knows) {
  if (knows_all_tasks_ == knows) return;
  mark_dirty();
  knows_all_tasks_ = knows;
  wake_all();
}

void Allocator::State::wake_all() {
  ++claimable_version_;
  for (const auto& [id, l] : leaves_) {
    l->tried_at = 0;
    update_hunger(*l, true);
  }
}

// Without reclaim, what is held for a guarantee falls when it is served from a reservation: then
// there is more for others. Whether somebody is to look again, since so many gifts were made.
bool Allocator::State::less_is_held(uint64_t gifts_before) {
  if (options_.reclaim != ReclaimMode::kOff || gifts_made_ == gifts_before) return false;
  if (held_back_.empty()) return false;
  wake_held_back();
  return true;
}

// Those with unmet guarantees, who may take what is free there, look again: something has become
// free on an agent with a claim.
void Allocator::State::wake_promised(const Role& role) {
  for (Role* child : role.promised) {
    if (child->wanting == 0) continue;
    if (!child->has_guarantee()) {
      wake_promised(*child);
    } else if (fair::has_unmet_guarantee(*child)) {
      fair::for_each_leaf(*child, [&](Leaf& l) { update_hunger(l, true); });
    }
  }
}

void Allocator::State::wake_held_back() {
  const std::set<Leaf*> held_back = std::move(held_back_);
  held_back_.clear();
  for (Leaf* l : held_back) {
    l->tried_at = 0;
    update_hunger(*l, true);
  }
}

// At the beginning of a decision: who was kept away by something that may have changed since.
void Allocator::State::wake_blocked() {
  wake_held_back();
  const std::set<Role*> blocking = std::move(blocking_);
  blocking_.clear();
  for (Role* role : blocking) {
    if (role->use_when_blocked.fits_in(role->use())) {  // Nothing of it has ended.
      blocking_.insert(role);
      continue;
    }
    wake_blocked_by(*role);
  }
}

void Allocator::State::wake_blocked_by(Role& role) {
  const std::set<Leaf*> blocked = std::move(role.blocked);
  role.blocked.clear();
  for (Leaf* l : blocked) {
    l->tried_at = 0;
    update_hunger(*l, true);
  }
}

void Allocator::State::update_hunger(Leaf& l, bool anew) {
  const bool wants = l.wants_offers();
  tree_.set_wishes(l, wants, wants, wants && (anew || anew_.contains(l)));
}

void Allocator::State::change_use(Leaf& l, const ResourceVector& allocated,
                                  const ResourceVector& offered) {
  if (&l == use_later_.leaf) {
    use_later_.allocated += allocated;
    use_later_.offered += offered;
    return;
  }
  tree_.change_use(l, allocated, offered);
}

ResourceVector Allocator::State::compute_total() const {
  // Sums beyond kAmountMax, of agents that say wild things, count as that.
  ResourceVector sum;
  for (const auto& [id, a] : agents_) {
    sum += a->counted_total();
    for (const ResourceKind kind : kResourceKinds) sum[kind] = std::min(sum[kind], kAmountMax);
  }
  return sum;
}

// What entitlements are of: what there is, but of an agent that is being drained only what still
// runs there. What goes away can be promised to nobody.
ResourceVector Allocator::State::usable_total() const {
  ResourceVector sum = shares_dirty_ ? compute_total() : total_;
  for (const Agent* a : draining_) {
    sum -= (a->counted_total() - a->counted_allocated()).max(ResourceVector());
  }
  return (sum - supposed_gone_).max(ResourceVector());
}

void Allocator::State::rebuild_shares() {
  for (const auto& [id, a] : agents_) free_.erase(*a);
  total_ = compute_total();
  for (const auto& [id, a] : agents_) free_.insert(*a, total_);
  tree_.rebuild(total_);
  shares_dirty_ = false;
}

void Allocator::State::know_shares() const {
  if (shares_dirty_) tree_.rebuild(compute_total());
}

}  // namespace proffer
