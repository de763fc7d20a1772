// What is lent comes back. A claimant is an ask that nothing free fits though an unmet guarantee
// covers it (or, with reclaim=fair_share, what it is entitled to). If ending tasks of those who are
// above their entitlement makes it fit, these have notice, and the agent is set aside for it.
// reclaim() first; whom it chooses is told in reclaim_plan.cc and victims.h.
//
// Why it does not flap: entitlements depend on what is wanted, not on who has it, and a task that
// is ended is wanted again. Where the two paths part, the claimant's side stays within its
// entitlement, and the victim's used more than its own of something that the victim held: with the
// victim again it would be above again, so it has no claim to what was taken from it. What is held
// above entitlements becomes less there; below, siblings may go on until it is less there too.

#include <algorithm>
#include <tuple>

#include "allocator/state.h"
#include "common/text.h"

namespace proffer {
namespace {

// After looking in vain an ask waits so long, whatever happens; so that one that never finds
// anything costs little.
constexpr Duration kLookAgainAfter = seconds(1);
// Nobody waits for ever for what should have ended.
constexpr Duration kPatience = kClaimAfter;
constexpr Duration kCapPeriod = minutes(1);

}  // namespace

// Returns whether there is more to give: somebody's claim had to give way, or who has something set
// aside now fits there.
bool Allocator::State::reclaim(Time now) {
  const size_t claims = claimed_.size();
  bool some_fit = false;
  const auto is_more = [&] { return some_fit || claimed_.size() < claims; };
  reclaim_at_.reset();
  for (const Agent* a : reclaimed_) {
    for (const fair::Reclaim& one : a->reclaims) look_again_at(one.until);
  }
  // While tasks may be unknown, roles seem to have less than they do.
  if (options_.reclaim == ReclaimMode::kOff || !knows_all_tasks_) return false;
  std::vector<Claimant> waiting = claimants(now);
  if (waiting.empty()) return false;
  if (options_.naive.eager_reclaim) {
    reclaim_eagerly(waiting, now);
    return false;
  }
  while (!waiting.empty()) {
    const int64_t left = revokes_left(now);
    if (left == 0 || now < cap_wait_until_) {
      look_again_at(std::max(cap_wait_until_, revokes_open(1, now)));
      return is_more();
    }
    const auto first =
        std::min_element(waiting.begin(), waiting.end(),
                         [](const Claimant& a, const Claimant& b) { return a.comes_before(b); });
    AskEntry& ask = *first->ask;
    const ReclaimPlan plan = plan_reclaim(ask, first->right, now, now - options_.minimum_runtime);
    if (plan.places.empty()) {
      ask.reclaim_seen = changes_;
      ask.reclaim_after = later(now, kLookAgainAfter);
      ask.ripe_at = plan.ripe_at;
      if (plan.ripe_at) look_again_at(*plan.ripe_at);
      waiting.erase(first);
      continue;
    }
    // One that needs more than ever may be taken at once gets it piece by piece. A gang is taken
    // whole. Who comes later does not take what the first waits for.
    const int64_t wanted = std::min(plan.tasks(), revokes_most());
    if (wanted > left && plan.victims.size() > 1) {
      cap_wait_until_ = revokes_open(wanted, now);
      look_again_at(cap_wait_until_);
      return is_more();
    }
    carry_out(ask, plan, left, now);
    some_fit = some_fit || std::any_of(plan.places.begin(), plan.places.end(), [&](const auto& p) {
                 return ask.claims(*p.agent) && is_usable(ask, *p.agent, now);
               });
    ask.reclaim_seen = 0;
    std::optional<Claimant> again = claimant(ask);
    if (again) {
      *first = *std::move(again);
    } else {
      waiting.erase(first);
    }
  }
  return is_more();
}

// --- who claims ---------------------------------------------------------------------------------

std::vector<Allocator::State::Claimant> Allocator::State::claimants(Time now) {
  std::vector<Claimant> found;
  const auto visit = [&](Leaf& l) {
    if (!l.wants_offers() || l.mode == OfferMode::kOpen) return;
    for (AskEntry* ask : l.order) {
      if (!lacks_more(*ask) || ask->only_preferred(now)) continue;
      if (!is_reclaim_due(*ask, now)) {
        if (ask->ripe_at) look_again_at(*ask->ripe_at);
        if (changes_ != ask->reclaim_seen) look_again_at(ask->reclaim_after);
        continue;
      }
      if (std::optional<Claimant> one = claimant(*ask)) found.push_back(*std::move(one));
    }
  };
  if (options_.reclaim == ReclaimMode::kFairShare) {
    for (const auto& [id, l] : leaves_) visit(*l);
  } else {
    visit_promised(tree_.root(), visit);
  }
  return found;
}

// Leaves that want offers below roles with guarantees, each once.
void Allocator::State::visit_promised(const Role& role, const std::function<void(Leaf&)>& visit) {
  for (Role* child : role.promised) {
    if (child->wanting == 0) continue;
    if (child->has_guarantee()) {
      fair::for_each_leaf(*child, visit);
    } else {
      visit_promised(*child, visit);
    }
  }
}

// Whether it lacks something beyond what was told to end for it, and would use it.
bool Allocator::State::lacks_more(const AskEntry& ask) {
  if (ask.reclaim_refused) return false;
  return ask.unmet() - ask.reclaiming >= ask.ask.gang || is_short(ask);
}

bool Allocator::State::is_reclaim_due(const AskEntry& ask, Time now) const {
  if (ask.reclaim_seen == 0 || (ask.ripe_at && *ask.ripe_at <= now)) return true;
  return changes_ != ask.reclaim_seen && ask.reclaim_after <= now;
}

std::optional<Allocator::State::Claimant> Allocator::State::claimant(AskEntry& ask) const {
  if (!lacks_more(ask)) return std::nullopt;
  Claimant one{.ask = &ask, .right = right_of(ask)};
  if (!one.right.any()) return std::nullopt;
  one.rank = rank_of(*ask.leaf, hungry_);
  return one;
}

// The least filled guarantee first; who claims by its share alone comes after those; then shares.
bool Allocator::State::Claimant::comes_before(const Claimant& o) const {
  if ((right.promise == nullptr) != (o.right.promise == nullptr)) return right.promise != nullptr;
  if (const auto by_promise = right.filled <=> o.right.filled; by_promise != 0) {
    return by_promise < 0;
  }
  if (const auto by_share = rank <=> o.rank; by_share != 0) return by_share < 0;
  if (ask->leaf != o.ask->leaf) {
    const Leaf& own = *ask->leaf;
    const Leaf& other = *o.ask->leaf;
    return std::tie(own.served, own.framework, own.role->name) <
           std::tie(other.served, other.framework, other.role->name);
  }
  return std::pair(-int64_t{ask->ask.priority}, ask->place) <
         std::pair(-int64_t{o.ask->ask.priority}, o.ask->place);
}

// --- notices ------------------------------------------------------------------------------------

void Allocator::State::carry_out(AskEntry& ask, const ReclaimPlan& plan, int64_t most, Time now) {
  int64_t told = 0;
  bool is_short = false;
  for (const Victim& victim : plan.victims) {
    is_short = told >= most;
    if (is_short) break;  // The rest when there is room for it.
    for (const auto& [a, ref] : victim) {
      check_victim(*a, ref, ask, now);
      revoke(*a, ref, RevokeReason::kReclaimed, ask.leaf->role->name, now);
      notices_.push_back(now);
      ++told;
    }
  }
  Time until = later(later(now, options_.revoke_grace), kPatience);
  if (is_short) until = later(until, kCapPeriod);
  for (const ReclaimPlan::Place& place : plan.places) {
    set_aside(ask, *place.agent, place.tasks, until);
    place.agent->reclaim_for(ask)->is_short = is_short;
  }
}

void Allocator::State::revoke(Agent& a, const fair::TaskRef& ref, RevokeReason reason,
                              const RoleName& beneficiary, Time now) {
  fair::Task& task = a.tasks.at(ref);
  CHECK(!task.ends_by) << ref.task.str() << " has had its notice";
  task.ends_by = later(now, options_.revoke_grace);
  a.noticed += task.resources.amounts;
  for (fair::Node* node = task.leaf; node != nullptr; node = node->parent) {
    node->noticed += task.resources.amounts;
  }
  revokes_.push_back({.agent = a.id,
                      .framework = ref.framework,
                      .task = ref.task,
                      .reason = reason,
                      .beneficiary = beneficiary,
                      .deadline = *task.ends_by});
}

int64_t Allocator::State::revokes_most() const {
  int64_t tasks = 0;
  for (const auto& [id, a] : agents_) tasks += static_cast<int64_t>(a->tasks.size());
  return std::max(options_.revokes_per_minute, tasks / 10);
}

int64_t Allocator::State::revokes_left(Time now) {
  while (!notices_.empty() && notices_.front() <= now - kCapPeriod) notices_.pop_front();
  return std::max<int64_t>(revokes_most() - static_cast<int64_t>(notices_.size()), 0);
}

// When so many may be told to end if no others are. There is no room for them now.
Time Allocator::State::revokes_open(int64_t count, Time now) const {
  const int64_t too_many = static_cast<int64_t>(notices_.size()) + count - revokes_most();
  if (too_many <= 0 || notices_.empty()) return later(now, kLookAgainAfter);
  const size_t last = std::min(static_cast<size_t>(too_many), notices_.size()) - 1;
  return later(notices_[last], kCapPeriod);
}

void Allocator::State::look_again_at(Time at) {
  reclaim_at_ = reclaim_at_ ? std::min(*reclaim_at_, at) : at;
}

// --- what is set aside --------------------------------------------------------------------------

void Allocator::State::set_aside(AskEntry& ask, Agent& a, int64_t tasks, Time until) {
  if (a.claim != nullptr && a.reclaims.empty()) drop_claim(*a.claim);
  if (a.reclaim_for(ask) == nullptr) a.reclaims.push_back({.ask = &ask});
  if (a.claim == nullptr) {
    free_.erase(a);
    a.claim = &ask;
    free_.insert(a, total_);  // It is not: what becomes free there is for the ask.
  }
  update_hunger(*ask.leaf, true);  // It may be enough already.
  a.reclaim_for(ask)->until = until;
  reclaimed_.insert(&a);
  ask.reclaims.insert(&a);
  ++claimable_version_;
  look_again_at(until);
  await(a, ask, tasks);
}

// So many more of the claimant's tasks are to run there, or fewer.
void Allocator::State::await(Agent& a, AskEntry& ask, int64_t tasks) {
  fair::Reclaim& reclaim = *a.reclaim_for(ask);
  reclaim.tasks += tasks;
  ask.reclaiming += tasks;
  CHECK_GE(reclaim.tasks, 0) << a.id.str();
  const ResourceVector amounts = ask.ask.shape * tasks;
  for (fair::Node* node = ask.leaf; node != nullptr; node = node->parent) node->awaited += amounts;
}

void Allocator::State::end_reclaim(Agent& a, AskEntry& ask) {
  await(a, ask, -a.reclaim_for(ask)->tasks);
  ask.reclaims.erase(&a);
  a.reclaims.erase(a.reclaims.begin() + (a.reclaim_for(ask) - a.reclaims.data()));
  ++claimable_version_;
  if (!a.reclaims.empty()) {
    a.claim = a.reclaims.front().ask;
    update_hunger(*a.claim->leaf, true);
  } else {
    a.claim = nullptr;
    reclaimed_.erase(&a);
    refresh(a, true);
  }
  thaw(true);  // Others may use what was set aside, in this decision if one is being made.
}

// The agent is not there for its claimants any more.
void Allocator::State::end_claim_on(Agent& a) {
  if (a.reclaims.empty() && a.claim != nullptr) drop_claim(*a.claim);
  while (!a.reclaims.empty()) end_reclaim(a, *a.reclaims.back().ask);
}

// The claimant has been given so many tasks there.
void Allocator::State::note_reclaimed(AskEntry& ask, Agent& a, int64_t count) {
  ask.reclaim_on_trial = true;
  await(a, ask, -std::min(count, a.reclaim_for(ask)->tasks));
  if (a.reclaim_for(ask)->tasks == 0) end_reclaim(a, ask);
}

// At the beginning of a decision: whatever no claimant waits for any more.
void Allocator::State::end_idle_reclaims(Time now) {
  const std::vector<Agent*> agents(reclaimed_.begin(), reclaimed_.end());
  for (Agent* a : agents) {
    const std::vector<fair::Reclaim> reclaims = a->reclaims;
    for (const fair::Reclaim& reclaim : reclaims) {
      AskEntry& ask = *reclaim.ask;
      if (reclaim.until <= now || is_filtered(*ask.leaf, *a, now) || !barred(ask).is_none()) {
        end_reclaim(*a, ask);
        continue;
      }
      const int64_t too_many = std::min(ask.reclaiming - ask.unmet(), reclaim.tasks);
      if (too_many > 0) await(*a, ask, -too_many);
      if (a->reclaim_for(ask)->tasks == 0) end_reclaim(*a, ask);
    }
  }
}

// Whether it uses what was taken from others for it: if not, nothing is any more, until it is
// declared anew.
void Allocator::State::note_answer(AskEntry& ask, int64_t offered, int64_t launched) {
  if (launched < offered && ask.reclaim_on_trial) ask.reclaim_refused = true;
  if (launched > 0) ask.reclaim_on_trial = ask.reclaim_refused = false;
}

// --- the naive rule -----------------------------------------------------------------------------

// As much as the ask takes is taken back, wherever it is and however young: the next time when that
// has ended.
void Allocator::State::reclaim_eagerly(const std::vector<Claimant>& waiting, Time now) {
  for (const Claimant& claimant : waiting) {
    AskEntry& ask = *claimant.ask;
    const ReclaimPlan plan = plan_anywhere(ask, claimant.right);
    carry_out(ask, plan, kAmountMax, now);
    ask.reclaim_seen = changes_;
    ask.ripe_at = ask.reclaim_after = later(now, options_.revoke_grace);
    look_again_at(ask.reclaim_after);
  }
}

}  // namespace proffer
