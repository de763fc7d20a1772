// Reclaims. Begin with reclaim().

#include "allocator/waiting/reclaims.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"
#include "allocator/waiting/claims.h"
#include "allocator/waiting/first_guess.h"
#include "allocator/waiting/withheld.h"
#include "common/check.h"

namespace proffer::fair {
namespace {

// The minimum time from a search without a plan to the next search for the ask, so that an ask that
// never finds victims costs little.
constexpr Duration kLookAgainAfter = seconds(1);
// A reclaim ends this long after the grace of its victims, even if they still run.
constexpr Duration kPatience = kClaimAfter;
constexpr Duration kCapPeriod = minutes(1);
// Reclaimed pieces that a framework with open offers may refuse without a launch in between.
constexpr int64_t kRefusedPieces = 8;
// The demand of a framework with open offers has no known end. So at a time at most this many times
// the tasks are reclaimed for it that it has launched since it last refused.
constexpr int64_t kOpenGrowth = 4;

// The number of tasks of the shape for which its outstanding offers have room.
int64_t offered_tasks(const AskEntry& ask) {
  int64_t tasks = kAmountMax;
  for (const ResourceKind kind : kResourceKinds) {
    const int64_t each = ask.ask.shape[kind];
    if (each > 0) tasks = std::min(tasks, ask.leaf->offered[kind] / each);
  }
  return tasks;
}

// Leaves that want offers below roles with guarantees, each once.
void visit_promised(const Role& role, const std::function<void(Leaf&)>& visit) {
  for (Role* child : role.promised) {
    if (child->wanting == 0) continue;
    if (child->has_guarantee()) {
      for_each_leaf(*child, visit);
    } else {
      visit_promised(*child, visit);
    }
  }
}

// The leaves of roles that use less than their guarantees, each leaf once.
void visit_below_guarantee(const RoleSet& roles, const std::function<void(Leaf&)>& visit) {
  for (const Role* role : roles) {
    const Role* above = role->parent;
    while (above != nullptr && roles.count(const_cast<Role*>(above)) == 0) above = above->parent;
    if (above == nullptr) for_each_leaf(*role, visit);
  }
}

}  // namespace

bool Reclaims::reclaim(Time now) {
  const size_t claims = claims_.all().size();
  bool some_fit = false;
  const auto is_more = [&] { return some_fit || claims_.all().size() < claims; };
  again_at_.reset();
  for (const auto& [a, reclaims] : reclaims_) {
    for (const Reclaim& one : reclaims) look_again_at(one.until);
  }
  // While tasks may be unknown, roles seem to have less than they do.
  if (cluster_.options.reclaim == ReclaimMode::kOff || !cluster_.knows_all_tasks) return false;
  guess_first_tasks();
  std::vector<Claimant> waiting = claimants(now);
  if (waiting.empty()) return false;
  if (cluster_.options.naive.eager_reclaim) {
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
    const ReclaimPlan plan = plan_reclaim(cluster_, *this, ask, first->right, now,
                                          now - cluster_.options.minimum_runtime);
    if (plan.places.empty() && is_guess(ask) && is_short(ask)) {  // It is too large for the agent.
      stop(ask);
      some_fit = true;
      continue;
    }
    if (plan.places.empty()) {
      Case& of_ask = cases_[ask];
      of_ask.seen = cluster_.changes;
      of_ask.after = later(now, kLookAgainAfter);
      of_ask.ripe_at = plan.ripe_at;
      if (plan.ripe_at) look_again_at(*plan.ripe_at);
      waiting.erase(first);
      continue;
    }
    // If the plan needs more victims than the limit ever allows at once, they get notice in several
    // steps; the tasks of a gang always at once. Later claimants do not use up the limit for which
    // the first one waits.
    const int64_t wanted = std::min(plan.tasks(), revokes_most());
    if (wanted > left && plan.victims.size() > 1) {
      cap_wait_until_ = revokes_open(wanted, now);
      look_again_at(cap_wait_until_);
      return is_more();
    }
    carry_out(ask, first->right, plan, left, now);
    some_fit = some_fit || std::any_of(plan.places.begin(), plan.places.end(), [&](const auto& p) {
                 return ask.claims(*p.agent) && is_usable(ask, *p.agent, now);
               });
    cases_[ask].seen = 0;
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

std::vector<Reclaims::Claimant> Reclaims::claimants(Time now) {
  std::vector<Claimant> found;
  const auto visit = [&](Leaf& l) {
    if (!l.wants_offers()) return;
    for (AskEntry* ask : l.order) {
      if (l.mode == OfferMode::kOpen && !ask->is_implied()) continue;
      if (ask->is_refused || !lacks_more(*ask) || ask->only_preferred(now)) continue;
      if (!is_due(*ask, now)) {
        const Case& of_ask = cases_[*ask];
        if (of_ask.ripe_at) look_again_at(*of_ask.ripe_at);
        if (cluster_.changes != of_ask.seen) look_again_at(of_ask.after);
        continue;
      }
      std::optional<Claimant> one = claimant(*ask);
      if (!one) continue;
      const std::optional<Time> patient = patient_until(*ask);
      if (one->right.promise == nullptr && patient && now < *patient) {
        look_again_at(*patient);
        continue;
      }
      found.push_back(*std::move(one));
    }
  };
  visit_claimants(visit);
  return found;
}

void Reclaims::visit_claimants(const std::function<void(Leaf&)>& visit) const {
  if (cluster_.options.reclaim == ReclaimMode::kFairShare) {
    for (const auto& [id, l] : cluster_.leaves) visit(*l);
  } else if (cluster_.tree.root().noticed.is_zero()) {
    visit_below_guarantee(cluster_.tree.below_guarantee(), visit);
  } else {  // What has had its notice does not count as used.
    visit_promised(cluster_.tree.root(), visit);
  }
}

bool Reclaims::lacks_more(const AskEntry& ask) const {
  if (cases_[ask].is_refused) return false;
  if (is_guess(ask) && !is_short(ask)) {  // One piece at a time, until a task is known.
    return coming(ask) == 0 && ask.leaf->offered.is_zero() && ask.unmet() > 0;
  }
  if (ask.is_implied() && !is_short(ask)) {
    const int64_t most = std::max<int64_t>(cases_[ask].launched * kOpenGrowth, 1);
    if (coming(ask) + offered_tasks(ask) >= most) return false;
  }
  return ask.unmet() - cases_[ask].coming >= ask.ask.gang || is_short(ask);
}

bool Reclaims::is_short(const AskEntry& ask) const {
  const AgentSet& agents = agents_of(ask);
  return std::any_of(agents.begin(), agents.end(),
                     [&](const Agent* a) { return find(*a, ask)->is_short; });
}

Time Reclaims::may_spare_until(const AskEntry& ask, Time now) const {
  const std::optional<Time>& known = cases_[ask].may_spare_until;
  if (known && now < later(*known, kCapPeriod)) return *known;
  return later(now, cluster_.options.minimum_runtime);
}

bool Reclaims::is_due(const AskEntry& ask, Time now) const {
  const Case& of_ask = cases_[ask];
  if (of_ask.seen == 0 || (of_ask.ripe_at && *of_ask.ripe_at <= now)) return true;
  return cluster_.changes != of_ask.seen && of_ask.after <= now;
}

std::optional<Reclaims::Claimant> Reclaims::claimant(AskEntry& ask) const {
  if (!lacks_more(ask)) return std::nullopt;
  Claimant one{.ask = &ask, .right = right_of(cluster_, *this, ask)};
  if (!one.right.any()) return std::nullopt;
  one.rank = rank_of(*ask.leaf);
  return one;
}

// The claimant with the least filled guarantee comes first. Claimants by share alone come after all
// guarantees, the least share first.
bool Reclaims::Claimant::comes_before(const Claimant& o) const {
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

void Reclaims::note_ends(Time now) {
  // Without the gate there are no entitlements in tasks.
  if (cluster_.options.reclaim != ReclaimMode::kFairShare || cluster_.options.naive.no_gate) return;
  std::unordered_map<const AskEntry*, int64_t> ended;  // looked up only
  const auto visit_ended = [&](const std::function<void(AskEntry&)>& visit) {
    for (const Cluster::Vacated& place : cluster_.vacated) {
      if (place.was_told) continue;
      const auto ask = place.framework->asks.find(place.ask);
      if (ask != place.framework->asks.end()) visit(*ask->second);
    }
  };
  visit_ended([&](const AskEntry& ask) { ++ended[&ask]; });
  visit_ended([&](AskEntry& ask) {
    const int64_t before = ask.placed + ended.at(&ask);
    const bool lacked = (before + ask.ask.gang) * kTaskOne <= ask.entitled;
    if (!lacked) cases_[ask].patient_until = later(now, kReclaimPatience);
  });
}

// --- guesses ------------------------------------------------------------------------------------

void Reclaims::guess_first_tasks() {
  if (cluster_.open_frameworks == 0) return;
  std::vector<Leaf*> unknown;  // not changed while the tree is walked
  visit_claimants([&](Leaf& l) {
    if (lacks_guess(cluster_, l)) unknown.push_back(&l);
  });
  for (Leaf* l : unknown) {
    const ResourceVector shape = first_guess(cluster_, *l);
    if (shape.is_zero()) continue;
    l->is_guess = true;
    cluster_.imply(*l, {.shape = shape, .is_wanted = true});
  }
}

bool Reclaims::is_guess(const AskEntry& ask) { return ask.is_implied() && ask.leaf->is_guess; }

void Reclaims::grow(Leaf& l, Agent& a, Time now) {
  AskEntry* const ask = l.implied();
  if (ask == nullptr || !l.is_guess || cases_[*ask].is_refused) return;
  if (cluster_.options.reclaim == ReclaimMode::kOff || !cluster_.knows_all_tasks) return;
  const bool is_for_others = a.is_set_aside() && !a.by_notice();
  if (is_for_others || !could_ever_fit(*ask, a) || !suits(*ask, a, now)) return;
  if (!right_of(cluster_, *this, *ask).any()) return;
  set_aside(*ask, a, 1, later(now, kCapPeriod));
  at(a, *ask).is_short = true;
}

// --- notices ------------------------------------------------------------------------------------

void Reclaims::carry_out(AskEntry& ask, const Right& right, const ReclaimPlan& plan, int64_t most,
                         Time now) {
  if (right.closest != nullptr) {
    const Role& role = *right.closest;
    int64_t tasks = 0;
    for (const ReclaimPlan::Place& place : plan.places) tasks += place.tasks;
    const ResourceVector then = role.kept() + awaited(role) + ask.ask.shape * tasks;
    withheld_.note_reclaim(role, ask, plan, then, now);
  }
  int64_t told = 0;
  bool is_short = false;
  for (const Victim& victim : plan.victims) {
    is_short = told >= most;
    if (is_short) break;  // The limit allows no more now.
    for (const auto& [a, ref] : victim) {
      check_victim(*a, ref, ask, now);
      Leaf& leaf = *a->tasks.at(ref).leaf;
      leaf.longest_cut = std::max(leaf.longest_cut, now - a->tasks.at(ref).since);
      spared_.note_victim(ref.framework, a->tasks.at(ref), now, cluster_.options.revoke_grace);
      cluster_.tell_to_end(*a, ref, RevokeReason::kReclaimed, ask.leaf->role->name, now);
      notices_.push_back(now);
      ++told;
    }
  }
  Time until = later(later(now, cluster_.options.revoke_grace), kPatience);
  if (is_short) until = later(until, kCapPeriod);
  const bool waits = plan.waits && plan.victims.empty();
  if (waits) until = later(now, cluster_.options.revoke_grace);
  if (waits && plan.spares) {
    until = may_spare_until(ask, now);
    cases_[ask].may_spare_until = until;
  }
  for (const ReclaimPlan::Place& place : plan.places) {
    const Reclaim* const known = find(*place.agent, ask);
    const bool only_waits = waits && (known == nullptr || known->waits);
    set_aside(ask, *place.agent, place.tasks, until);
    at(*place.agent, ask).waits = only_waits;
    at(*place.agent, ask).is_short = is_short;
  }
}

int64_t Reclaims::revokes_most() const {
  int64_t tasks = 0;
  for (const auto& [id, a] : cluster_.agents) tasks += static_cast<int64_t>(a->tasks.size());
  return std::max(cluster_.options.revokes_per_minute, tasks / 10);
}

int64_t Reclaims::revokes_left(Time now) {
  while (!notices_.empty() && notices_.front() <= now - kCapPeriod) notices_.pop_front();
  return std::max<int64_t>(revokes_most() - static_cast<int64_t>(notices_.size()), 0);
}

Time Reclaims::cap_open(int64_t count, Time now) const {
  return std::max(cap_wait_until_, revokes_open(count, now));
}

// The time from which `count` victims may get notice, if there are no others until then. They may
// not now.
Time Reclaims::revokes_open(int64_t count, Time now) const {
  const int64_t too_many = static_cast<int64_t>(notices_.size()) + count - revokes_most();
  if (too_many <= 0 || notices_.empty()) return later(now, kLookAgainAfter);
  const size_t last = std::min(static_cast<size_t>(too_many), notices_.size()) - 1;
  return later(notices_[last], kCapPeriod);
}

void Reclaims::look_again_at(Time at) { again_at_ = again_at_ ? std::min(*again_at_, at) : at; }

// --- what is set aside --------------------------------------------------------------------------

void Reclaims::set_aside(AskEntry& ask, Agent& a, int64_t tasks, Time until) {
  if (a.purpose == Purpose::kOwed) cluster_.end_keep(a);
  if (a.purpose == Purpose::kClaim) claims_.drop(*a.claimant);
  if (find(a, ask) == nullptr) reclaims_[&a].push_back({.ask = &ask});
  if (a.claimant == nullptr) cluster_.set_aside(a, ask, Purpose::kNotice);
  cluster_.update_demand(*ask.leaf, true);  // The ask may fit already.
  at(a, ask).until = std::max(at(a, ask).until, until);
  cases_[ask].agents.insert(&a);
  ++cluster_.claimable_version;
  look_again_at(until);
  await(a, ask, tasks);
}

const std::vector<Reclaim>& Reclaims::on(const Agent& a) const {
  static const std::vector<Reclaim> kNone;
  const auto known = reclaims_.find(const_cast<Agent*>(&a));
  return known == reclaims_.end() ? kNone : known->second;
}

const Reclaim* Reclaims::find(const Agent& a, const AskEntry& ask) const {
  for (const Reclaim& one : on(a)) {
    if (one.ask == &ask) return &one;
  }
  return nullptr;
}

Reclaim& Reclaims::at(Agent& a, const AskEntry& ask) {
  const Reclaim* const known = find(a, ask);
  CHECK(known != nullptr) << a.id.str();
  return *const_cast<Reclaim*>(known);
}

ResourceVector Reclaims::awaited(const Node& node) const {
  const auto known = awaited_.find(&node);
  return known == awaited_.end() ? ResourceVector() : known->second;
}

// Adds `tasks` to the number of the claimant's tasks that will fit there; may be negative.
void Reclaims::await(Agent& a, AskEntry& ask, int64_t tasks) {
  Reclaim& reclaim = at(a, ask);
  reclaim.tasks += tasks;
  cases_[ask].coming += tasks;
  CHECK_GE(reclaim.tasks, 0) << a.id.str();
  const ResourceVector amounts = ask.ask.shape * tasks;
  if (amounts.is_zero()) return;
  for (const Node* node = ask.leaf; node != nullptr; node = node->parent) {
    const auto of_node = awaited_.try_emplace(node).first;
    of_node->second += amounts;
    if (of_node->second.is_zero()) awaited_.erase(of_node);
  }
}

void Reclaims::end(Agent& a, AskEntry& ask) {
  await(a, ask, -at(a, ask).tasks);
  cases_[ask].agents.erase(&a);
  std::vector<Reclaim>& here = reclaims_.at(&a);
  std::erase_if(here, [&](const Reclaim& one) { return one.ask == &ask; });
  ++cluster_.claimable_version;
  if (!here.empty()) {
    AskEntry& next = *here.front().ask;
    if (a.claimant != &next) cluster_.set_aside(a, next, Purpose::kNotice);
    cluster_.update_demand(*next.leaf, true);
    return;
  }
  reclaims_.erase(&a);
  cluster_.end_set_aside(a);
  cluster_.refresh(a, true);
}

void Reclaims::end_on(Agent& a) {
  while (!on(a).empty()) end(a, *on(a).back().ask);
}

bool Reclaims::stop(AskEntry& ask) {
  const bool waited = !agents_of(ask).empty();
  while (!agents_of(ask).empty()) end(**agents_of(ask).begin(), ask);
  cases_[ask].launched = 0;
  cases_[ask].may_spare_until.reset();
  return waited;
}

bool Reclaims::note_given(AskEntry& ask, Agent& a, int64_t count) {
  cases_[ask].is_on_trial = true;
  const int64_t tasks = at(a, ask).tasks;
  await(a, ask, -std::min(count, tasks));
  if (count < tasks) return false;
  end(a, ask);
  return true;
}

void Reclaims::end_idle(Time now) {
  wrong_victims_.clear();
  const std::map<Agent*, std::vector<Reclaim>, AgentById> all = reclaims_;
  for (const auto& [a, reclaims] : all) {
    for (const Reclaim& reclaim : reclaims) {
      AskEntry& ask = *reclaim.ask;
      if (reclaim.until <= now && reclaim.waits) cases_[ask].waited_in_vain = true;
      if (reclaim.until <= now || is_filtered(ask, *a, now) || !denial(cluster_, ask).is_none()) {
        end(*a, ask);
        continue;
      }
      const int64_t too_many = std::min(coming(ask) - ask.unmet(), reclaim.tasks);
      if (too_many > 0) await(*a, ask, -too_many);
      if (at(*a, ask).tasks == 0) end(*a, ask);
    }
  }
}

void Reclaims::note_answer(const AskEntry& ask, int64_t offered, int64_t launched) {
  Case& of_ask = cases_[ask];
  if (launched < offered && of_ask.is_on_trial) of_ask.is_refused = true;
  if (launched > 0) of_ask.is_on_trial = of_ask.is_refused = false;
}

void Reclaims::note_open_answer(const AskEntry& ask, int64_t launched) {
  Case& of_ask = cases_[ask];
  if (launched > 0) {
    of_ask.launched = std::min(of_ask.launched + launched, kAskCountMax);
    of_ask.is_on_trial = of_ask.is_refused = false;
    of_ask.refused_pieces = 0;
  } else if (std::exchange(of_ask.is_on_trial, false)) {
    of_ask.is_refused = ++of_ask.refused_pieces >= kRefusedPieces;
  }
}

// --- the naive rule -----------------------------------------------------------------------------

// Reclaims the amounts of one task on any agents, from tasks of any age. The next search comes when
// these have ended.
void Reclaims::reclaim_eagerly(const std::vector<Claimant>& waiting, Time now) {
  for (const Claimant& claimant : waiting) {
    AskEntry& ask = *claimant.ask;
    const ReclaimPlan plan = plan_anywhere(cluster_, ask, claimant.right);
    carry_out(ask, claimant.right, plan, kAmountMax, now);
    Case& of_ask = cases_[ask];
    of_ask.seen = cluster_.changes;
    of_ask.ripe_at = of_ask.after = later(now, cluster_.options.revoke_grace);
    look_again_at(of_ask.after);
  }
}

}  // namespace proffer::fair
