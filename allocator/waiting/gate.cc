// review() updates entitlements and ends claims at the beginning of a decision; assign() makes
// claims after the owed tasks have been given.

#include "allocator/waiting/gate.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "allocator/rules/denial.h"
#include "allocator/rules/entitled_tasks.h"
#include "allocator/rules/fit.h"
#include "allocator/rules/prospect.h"
#include "allocator/waiting/holds.h"
#include "common/text.h"

namespace proffer::fair {
namespace {

__extension__ typedef __int128 Int128;

constexpr Duration kArrearsPeriod = seconds(60);
// The cap on arrears: this many tasks, or one gang.
constexpr int64_t kArrearsMax = 2;
// Maximum claims of one ask, each on another agent.
constexpr int64_t kClaimsMax = 2;
// An ask that lacks this many tasks, and has no claim, need not wait for asks above their
// entitlement: there may be none, since separate agents hold fewer tasks than one pool.
constexpr int64_t kFarBehind = kClaimsMax;
// The maximum rounding error of a task count.
constexpr int64_t kSlack = kTaskOne / 256;
// The longest hold in vain of one ask for tasks that are expected to end.
constexpr Duration kHoldMax = hours(24);
// The maximum age of entitlements if only counts have changed, or if they take long to compute: in
// a cluster of more leaves than these.
constexpr Duration kEntitlementsAge = milliseconds(250);
constexpr size_t kManyLeaves = 64;

bool has_some_free(const AskEntry& ask, const Agent& a) {
  return std::any_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
    return ask.ask.shape[kind] > 0 && a.free.amounts[kind] > 0;
  });
}

bool wants_more(const AskEntry& ask) {
  const bool is_asked = ask.leaf->mode == OfferMode::kAsks || ask.is_implied();
  return is_asked && ask.unmet() > 0 && ask.leaf_wants();
}

}  // namespace

// --- what is owed -------------------------------------------------------------------------------

void Gate::review(Time now) {
  if (cluster_.options.naive.no_gate) return;
  const bool is_other = agents_then_ != cluster_.agents_version ||
                        settings_then_ != cluster_.settings_version ||
                        asks_then_ != cluster_.asks_version;
  settle_recounted(now);
  const bool is_due = now - found_at_ >= kEntitlementsAge
                          ? is_other || cluster_.entitlements_old
                          : is_other && cluster_.leaves.size() <= kManyLeaves;
  if (is_due) {
    for (const auto& [id, l] : cluster_.leaves) {
      for (const AskEntry* ask : l->order) settle_arrears(*ask, now);
    }
    cluster_.some_lack = find_entitled_tasks(cluster_);
    note_all_owed(now);
    cluster_.entitlements_old = false;
    found_at_ = now;
    agents_then_ = cluster_.agents_version;
    settings_then_ = cluster_.settings_version;
    asks_then_ = cluster_.asks_version;
  }
  while (!soon_owed_.empty() && soon_owed_.begin()->first <= now) {
    AskEntry& ask = *soon_owed_.begin()->second;
    set_look_at(ask, std::nullopt);
    note_owed(ask, now);
  }
  review_at_.reset();
  // In a quiet cluster no event would bring the next decision.
  if (!is_due && (is_other || cluster_.entitlements_old)) {
    review_at_ = later(found_at_, kEntitlementsAge);
  }
  const std::vector<Agent*> keeping(cluster_.owed.begin(), cluster_.owed.end());
  for (Agent* a : keeping) {
    const AskEntry& ask = *a->claimant;
    const bool holds = cluster_.some_lack && ask.unmet() > 0 && ask.leaf->wants_offers() &&
                       is_owed(ask, now) && suits(ask, *a, now) && a->parts.empty() &&
                       denial(cluster_, ask).is_none();
    const bool is_vain = holds && is_held_in_vain(*a, now);
    if (is_vain) {
      rest_after_hold(*a, now);
      Duration& hold = patience_[ask];
      hold = std::min(hold * 2, kHoldMax);
    }
    if (!holds || is_vain) {
      cluster_.end_keep(*a);
    } else {
      review_later(*a);
    }
  }
}

void Gate::close(Time now) { update_orders(now); }

// The time without freed resources after which a hold on the agent ends.
Duration Gate::hold_on(const Agent& a) const {
  const Duration hold = patience_[*a.claimant];
  return a.hold.is_speculative ? std::min(hold, hold_max(cluster_)) : hold;
}

bool Gate::is_held_in_vain(Agent& a, Time now) {
  if (!is_in_vain(a, std::min(patience_[*a.claimant], hold_max(cluster_)), now)) return false;
  // Tasks that were expected to end may have run for too long.
  if (!is_expected(*a.claimant, a, now)) become_speculative(cluster_, a);
  return is_in_vain(a, hold_on(a), now);
}

void Gate::review_later(const Agent& a) {
  const Time at = later(a.hold.progress_at, hold_on(a));
  review_at_ = review_at_ ? std::min(*review_at_, at) : at;
}

// Whether a task of the ask fits there after the end of all tasks that are expected to end.
bool Gate::is_expected(const AskEntry& ask, const Agent& a, Time now) {
  return prospect(ask, a, now).expected > 0;
}

int64_t Gate::arrears(const AskEntry& ask, Time now) const {
  const Arrears& row = arrears_[ask];
  if (now <= row.since) return row.amount;
  const Int128 lacked = Int128(ask.entitled - row.placed * kTaskOne) * (now - row.since).micros() /
                        kArrearsPeriod.micros();
  return static_cast<int64_t>(std::clamp<Int128>(row.amount + lacked, 0, arrears_max(ask)));
}

int64_t Gate::arrears_max(const AskEntry& ask) {
  return std::max(kArrearsMax, ask.ask.gang) * kTaskOne;
}

void Gate::settle_arrears(const AskEntry& ask, Time now) {
  arrears_[ask] = {.amount = arrears(ask, now), .since = now, .placed = ask.placed};
}

void Gate::settle_recounted(Time now) {
  for (AskEntry* ask : cluster_.recounted) {
    settle_arrears(*ask, now);
    note_owed(*ask, now);
    ask->is_recounted = false;
  }
  cluster_.recounted.clear();
}

// The arrears from which the ask is owed a task; may be negative.
int64_t Gate::owed_from(const AskEntry& ask, int64_t ended) {
  return (ask.placed - ended + ask.ask.gang) * kTaskOne - ask.entitled - kSlack;
}

bool Gate::is_owed(const AskEntry& ask, Time now, int64_t ended) const {
  return arrears(ask, now) >= owed_from(ask, ended);
}

// Called after its arrears were settled, or when it is time to look again. An early look costs only
// another look, so a noted time stays.
void Gate::note_owed(AskEntry& ask, Time now) {
  const bool is_owed_now = cluster_.some_lack && is_owed(ask, now);
  set_owed(ask, is_owed_now);
  if (is_owed_now) return;
  std::optional<Time> at = owed_at(ask);
  if (at) at = std::max(*at, later(now, microseconds(1)));  // Ensures that review() terminates.
  const std::optional<Time>& known = marks_[ask].look_at;
  if (at && (!known || *at < *known)) set_look_at(ask, at);
}

void Gate::set_owed(AskEntry& ask, bool is_owed) {
  if (ask.is_owed == is_owed) return;
  ask.is_owed = is_owed;
  turned_.push_back(&ask);
  if (is_owed) {
    marks_[ask].place = owed_.size();
    owed_.push_back(&ask);
    return;
  }
  const size_t place = marks_[ask].place;
  owed_[place] = owed_.back();
  marks_[*owed_[place]].place = place;
  owed_.pop_back();
}

void Gate::note_all_owed(Time now) {
  for (const auto& [id, l] : cluster_.leaves) {
    for (AskEntry* ask : l->order) note_owed(*ask, now);
    cluster_.note_owed(*l);
  }
}

void Gate::update_orders(Time now) {
  if (cluster_.options.naive.no_gate) return;
  settle_recounted(now);
  for (const AskEntry* ask : turned_) cluster_.note_owed(*ask->leaf);
  turned_.clear();
}

// The time at which the ask will be owed a task if its number of tasks stays the same; empty:
// never.
std::optional<Time> Gate::owed_at(const AskEntry& ask) const {
  const Arrears& row = arrears_[ask];
  const int64_t growth = ask.entitled - row.placed * kTaskOne;  // per kArrearsPeriod
  const int64_t lacking = owed_from(ask, 0) - row.amount;
  if (!cluster_.some_lack || growth <= 0 || owed_from(ask, 0) > arrears_max(ask)) {
    return std::nullopt;
  }
  const Int128 wait = (Int128(lacking) * kArrearsPeriod.micros() + growth - 1) / growth;
  if (wait > kDurationMax.micros()) return std::nullopt;
  return later(row.since, microseconds(static_cast<int64_t>(wait)));
}

void Gate::set_look_at(AskEntry& ask, std::optional<Time> at) {
  std::optional<Time>& known = marks_[ask].look_at;
  if (known) soon_owed_.erase({*known, &ask});
  if (at) soon_owed_.insert({*at, &ask});
  known = at;
}

void Gate::forget(AskEntry& ask) {
  set_look_at(ask, std::nullopt);
  set_owed(ask, false);
  std::erase(turned_, &ask);
  arrears_.forget(ask);
  patience_.forget(ask);
  marks_.forget(ask);
}

bool Gate::is_another_owed(const Leaf& besides, Time now) const {
  if (!cluster_.some_lack) return false;
  return std::any_of(owed_.begin(), owed_.end(), [&](const AskEntry* ask) {
    return ask->leaf != &besides && wants_more(*ask) && is_owed(*ask, now) &&
           denial(cluster_, *ask).is_none();
  });
}

int64_t Gate::owed_tasks(const AskEntry& ask, int64_t most, Time now) const {
  const int64_t in_all = (ask.entitled + arrears(ask, now) + kSlack) / kTaskOne;
  return std::clamp<int64_t>(in_all - ask.placed, 0, most);
}

bool Gate::is_above(const AskEntry& ask, Time now) const {
  return ask.placed * kTaskOne > ask.entitled + arrears(ask, now) + kSlack;
}

// Whether the other ask has a larger fraction of its entitlement, arrears included.
bool Gate::is_ahead(const AskEntry& other, const AskEntry& ask, Time now) const {
  const Int128 of_other = other.placed * kTaskOne - arrears(other, now);
  const Int128 own = ask.placed * kTaskOne - arrears(ask, now);
  return of_other * ask.entitled > own * other.entitled;
}

// --- claims -------------------------------------------------------------------------------------

int64_t Gate::claims_of(const AskEntry& ask) {
  return std::count_if(ask.set_aside.begin(), ask.set_aside.end(),
                       [](const Agent* a) { return a->purpose == Purpose::kOwed; });
}

// The amounts free on the agent after the end of all tasks of asks above their entitlement, and of
// asks ahead of `behind`, if given; except tasks that never end. Tasks of a leaf without a declared
// ask count as those of one ask. With a `claimant`, tasks whose end would take another role below
// its guarantee do not count: that role would take their places back.
ResourceVector Gate::soon_free(const Agent& a, const AskEntry* behind, const AskEntry* claimant,
                               Time now) const {
  ResourceVector soon = a.free.amounts;
  EndedBelow ended;
  const Time horizon = later(now, hold_max(cluster_));
  for (const auto& [ref, task] : a.tasks) {
    if (outlook_of(task, now) == Outlook::kNever) continue;
    // A task with a time limit may end before it.
    const std::optional<Time> may_end = may_end_at(task, now);
    const bool is_limited = task.claim().max_run_time > Duration();
    if (!is_limited && (!may_end || *may_end > horizon)) continue;
    const auto ask = task.leaf->owner->asks.find(task.ask());
    const bool is_over = ask == task.leaf->owner->asks.end()
                             ? task.leaf->entitled_without_ask < kTaskOne - kSlack
                             : is_above(*ask->second, now) ||
                                   (behind != nullptr && is_ahead(*ask->second, *behind, now));
    if (is_over && claimant != nullptr && is_promised(task, *claimant, ended)) continue;
    if (is_over) soon += task.amounts();
  }
  return soon;
}

bool Gate::is_claim_served_without(const AskEntry& ask, const Agent& a, Time now) const {
  const ResourceVector soon = soon_free(a, nullptr, a.claimant, now) + a.kept.amounts;
  return (a.claimant->ask.shape + ask.ask.shape).fits_in(soon);
}

// Whether the end of the task, after those in `ended`, takes a role beside the claimant below its
// guarantee. If not, adds the task to `ended`.
bool Gate::is_promised(const Task& task, const AskEntry& claimant, EndedBelow& ended) {
  const RoleName& own = claimant.leaf->role->name;
  const ResourceVector& amounts = task.amounts();
  const auto is_beside = [&](const Role& role) {
    return role.has_guarantee() && role.wanting > 0 && !is_within(own, role.name);
  };
  for (const Role* role = task.leaf->role; role->parent != nullptr; role = role->parent) {
    if (!is_beside(*role)) continue;
    const ResourceVector left = role->kept() - ended[role] - amounts;
    for (const ResourceKind kind : kResourceKinds) {
      const std::optional<int64_t> promise = role->settings.guarantee[kind];
      if (promise && amounts[kind] > 0 && left[kind] < *promise) return true;
    }
  }
  for (const Role* role = task.leaf->role; role->parent != nullptr; role = role->parent) {
    if (is_beside(*role)) ended[role] += amounts;
  }
  return false;
}

bool Gate::may_claim(const AskEntry& ask, const Agent& a, const ResourceVector& soon,
                     Time now) const {
  const ResourceVector lent = soon - withheld_from(ask, a.withheld);
  return ask.ask.shape.fits_in(lent) && suits(ask, a, now) && could_ever_fit(ask, a) &&
         !is_usable(ask, a, now);
}

void Gate::assign(Time now) {
  if (!cluster_.some_lack) return;
  std::vector<Agent*> agents;
  for (Agent* a : cluster_.grown) {
    if (rests(*a, now)) continue;
    if (a->serves() && a->claimant == nullptr && a->parts.empty() && !a->free.amounts.is_zero()) {
      agents.push_back(a);
    }
  }
  if (agents.empty()) return;
  std::sort(agents.begin(), agents.end(), AgentById());
  struct Waiter {
    AskEntry* ask = nullptr;
    int64_t ran = 0;  // tasks within its entitlement, in units of kTaskOne
  };
  std::vector<Waiter> candidates;
  for (AskEntry* ask : owed_) {
    if (!wants_more(*ask) || ask->ask.gang > 1 || ask->only_preferred(now)) continue;
    const int64_t claims = claims_of(*ask);
    if (claims >= kClaimsMax || owed_tasks(*ask, kClaimsMax, now) <= claims) continue;
    if (!denial(cluster_, *ask).is_none()) continue;
    const Int128 ran = ask->placed * kTaskOne - arrears(*ask, now);
    candidates.push_back(
        {ask, static_cast<int64_t>(ran * kTaskOne / std::max<int64_t>(ask->entitled, 1))});
  }
  const auto comes_before = [](const AskEntry* a, const AskEntry* b) {
    if (a->leaf != b->leaf) {
      return std::tie(a->leaf->framework, a->leaf->role->name) <
             std::tie(b->leaf->framework, b->leaf->role->name);
    }
    const std::vector<AskEntry*>& order = a->leaf->order;
    return std::find(order.begin(), order.end(), a) < std::find(order.begin(), order.end(), b);
  };
  std::sort(candidates.begin(), candidates.end(), [&](const Waiter& a, const Waiter& b) {
    const uint64_t served_a = a.ask->leaf->served;
    const uint64_t served_b = b.ask->leaf->served;
    if (a.ran != b.ran || served_a != served_b) {
      return std::tie(a.ran, served_a) < std::tie(b.ran, served_b);
    }
    return comes_before(a.ask, b.ask);
  });
  // If shares give a right to reclaim, places that change hands would be reclaimed.
  const bool may_be_behind = cluster_.options.reclaim != ReclaimMode::kFairShare;
  for (Agent* a : agents) {
    const ResourceVector soon = soon_free(*a, nullptr, nullptr, now);
    const AskEntry* behind = nullptr;  // the first far-behind ask that the agent could serve
    for (const Waiter& candidate : candidates) {
      AskEntry& ask = *candidate.ask;
      const int64_t claims = claims_of(ask);
      const int64_t owed = claims < kClaimsMax ? owed_tasks(ask, kClaimsMax, now) : 0;
      if (owed <= claims) continue;
      bool may = may_claim(ask, *a, soon, now) && has_some_free(ask, *a);
      const bool is_guess = ask.is_implied() && ask.leaf->is_guess;
      const bool is_far_behind = may_be_behind && claims == 0 && owed >= kFarBehind && !is_guess;
      const AskEntry* exchanges = nullptr;
      if (!may && is_far_behind && behind == nullptr && could_ever_fit(ask, *a) &&
          suits(ask, *a, now)) {
        exchanges = behind = &ask;
        may = may_claim(ask, *a, soon_free(*a, exchanges, nullptr, now), now);
      }
      if (may && cluster_.promises_any()) {
        may = may_claim(ask, *a, soon_free(*a, exchanges, &ask, now), now);
      }
      if (!may) continue;
      const bool is_speculative = !is_expected(ask, *a, now);
      if (is_speculative && !may_speculate(cluster_)) continue;
      if (patience_[ask] == Duration()) patience_[ask] = hold_min(cluster_);
      cluster_.set_aside(*a, ask, Purpose::kOwed, ask.ask.shape);
      begin_hold(cluster_, *a, is_speculative, now);
      review_later(*a);
      break;
    }
  }
}

bool Gate::note_given(AskEntry& ask, Agent& a, Time now) {
  if (cluster_.options.naive.no_gate) return false;
  if (ask.claims(a) && a.purpose == Purpose::kOwed) {
    cluster_.end_keep(a);
    patience_[ask] = hold_min(cluster_);  // It may get another claim.
  }
  if (!is_owed(ask, now)) set_owed(ask, false);
  // A claim needs a lacking task.
  bool some_ended = false;
  while (claims_of(ask) > 0 && owed_tasks(ask, kClaimsMax, now) < claims_of(ask)) {
    const auto last = std::find_if(ask.set_aside.rbegin(), ask.set_aside.rend(),
                                   [](const Agent* on) { return on->purpose == Purpose::kOwed; });
    cluster_.end_keep(**last);
    some_ended = true;
  }
  return some_ended;
}

bool Gate::stop(AskEntry& ask) {
  bool had_claim = false;
  const std::vector<Agent*> agents = ask.set_aside;
  for (Agent* a : agents) {
    if (a->purpose != Purpose::kOwed) continue;
    cluster_.end_keep(*a);
    had_claim = true;
  }
  return had_claim;
}

void Gate::check(std::vector<Violation>& found) const {
  for (const auto& [id, l] : cluster_.leaves) {
    for (const AskEntry* ask : l->order) {
      const bool is_new = ask->is_recounted;  // Then the next decision examines it.
      const bool is_noted = ask->is_owed && owed_[marks_[*ask].place] == ask;
      if (ask->is_owed != is_noted ||
          (!is_new && cluster_.some_lack && is_owed(*ask, cluster_.decided_at) && !is_noted)) {
        found.push_back({text("ask ", ask->ask.name.str(), " of framework ", id.framework.str(),
                              ": its owed resources are not recorded")});
      }
    }
  }
  for (const Agent* a : cluster_.owed) {
    const auto wrong = [&](const std::string& what) {
      found.push_back({text("agent ", a->id.str(), ": ", what)});
    };
    if (a->claimant == nullptr || a->purpose != Purpose::kOwed) {
      wrong("it is recorded as kept for an ask, and is not");
      continue;
    }
    if (!(a->keep == a->claimant->ask.shape)) wrong("the kept amount is not one task");
    if (cluster_.dirty) continue;
    if (denial(cluster_, *a->claimant).is_none() &&
        is_usable(*a->claimant, *a, cluster_.decided_at)) {
      wrong("the ask for which it is kept fits and was not served");
    }
  }
}

}  // namespace proffer::fair
