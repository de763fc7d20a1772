// note_reclaim() counts what is taken back; review() withholds it while it is not used.

#include "allocator/waiting/withheld.h"

#include <algorithm>
#include <utility>

#include "allocator/rules/prospect.h"
#include "common/text.h"

namespace proffer::fair {
namespace {

constexpr Duration kLastsMin = minutes(1);
constexpr Duration kLastsMax = hours(1);
constexpr Duration kMemory = hours(1);
// The agents where something may be withheld for one role: the latest.
constexpr size_t kPlacesMax = 256;

bool has_long(const std::vector<Victim>& victims, Duration lasts, Time now) {
  return std::any_of(victims.begin(), victims.end(), [&](const Victim& victim) {
    return std::any_of(victim.begin(), victim.end(), [&](const auto& member) {
      return expected_run(member.first->tasks.at(member.second), now) > lasts;
    });
  });
}

// Whether `use` has at most `most` of each kind that `more` takes.
bool is_at_most(const ResourceVector& use, const ResourceVector& most, const ResourceVector& more) {
  return std::all_of(kResourceKinds.begin(), kResourceKinds.end(),
                     [&](ResourceKind kind) { return more[kind] == 0 || use[kind] <= most[kind]; });
}

}  // namespace

bool Withheld::RecentUse::advance(const ResourceVector& before, const ResourceVector& use,
                                  Duration period, Time now) {
  const Duration step = period / static_cast<int64_t>(most_.size() - 1);
  const ResourceVector most = before.max(use);
  add(most);
  if (!ends_) ends_ = later(now, step);
  if (now < *ends_) return false;
  for (size_t i = 0; i < most_.size() && *ends_ <= now; ++i) {
    std::rotate(most_.begin(), most_.end() - 1, most_.end());
    most_.front() = most;
    ends_ = later(*ends_, step);
  }
  if (*ends_ <= now) ends_ = later(now, step);
  return true;
}

ResourceVector Withheld::RecentUse::most() const {
  ResourceVector most;
  for (const ResourceVector& of_step : most_) most = most.max(of_step);
  return most;
}

void Withheld::note_reclaim(const Role& role, const AskEntry& ask, const ReclaimPlan& plan,
                            const ResourceVector& then, Time now) {
  const auto known = cases_.find(role.name);
  const Duration lasts = known == cases_.end() ? Duration() : known->second.lasts;
  if (plan.victims.empty() || !has_long(plan.victims, std::max(lasts, kLastsMin), now)) return;
  Case& its = cases_[role.name];
  if (now - its.active_at > kMemory) its = {.taken_at = now};
  its.active_at = now;
  const bool is_again = is_at_most(then, its.had, ask.ask.shape);
  its.had = its.had.max(then);
  const Duration since = now - std::exchange(its.taken_at, now);
  if (!is_again) return;
  if (its.lasts == Duration()) {
    its.lasts = kLastsMin;
  } else if (since >= its.lasts) {
    its.lasts = std::min(its.lasts * 2, kLastsMax);
  }
  its.recent.advance(its.use, role.use(), its.lasts, now);
  its.recent.add(then);
  its.use = role.use();
  for (const ReclaimPlan::Place& place : plan.places) {
    if (place.tasks == 0 || !place.agent->parts.empty()) continue;
    const auto at = std::find_if(its.places.begin(), its.places.end(),
                                 [&](const Place& one) { return one.agent == place.agent; });
    Place latest{.agent = place.agent};
    if (at != its.places.end()) {
      latest = *at;
      its.places.erase(at);
    }
    latest.amounts += ask.ask.shape * place.tasks;
    its.places.insert(its.places.begin(), latest);
  }
  if (its.places.size() > kPlacesMax) {
    for (size_t i = kPlacesMax; i < its.places.size(); ++i) {
      set_withheld(role.name, *its.places[i].agent, {}, {});
    }
    its.places.resize(kPlacesMax);
  }
  its.is_changed = true;
}

bool Withheld::review(Time now) {
  review_at_.reset();
  if (cases_.empty()) return false;
  const bool is_set_anew =
      settings_then_ != cluster_.settings_version || agents_then_ != cluster_.agents_version;
  settings_then_ = cluster_.settings_version;
  agents_then_ = cluster_.agents_version;
  bool is_less = false;
  for (auto at = cases_.begin(); at != cases_.end();) {
    auto& [name, its] = *at;
    its.is_changed = its.is_changed || is_set_anew;
    is_less = update(name, its, now) || is_less;
    at = its.places.empty() && now - its.active_at > kMemory ? cases_.erase(at) : std::next(at);
  }
  wake_covered();
  return is_less;
}

bool Withheld::update(const RoleName& name, Case& its, Time now) {
  const Role* const role = cluster_.tree.find(name);
  if (role == nullptr || !role->has_guarantee()) {
    bool is_less = false;
    for (const Place& place : its.places) {
      is_less = set_withheld(name, *place.agent, {}, {}) || is_less;
    }
    its.places.clear();
    return is_less;
  }
  if (its.lasts == Duration()) return false;
  const ResourceVector use = role->use();
  if (!use.fits_in(its.use)) its.active_at = now;
  const bool is_freed = std::any_of(its.places.begin(), its.places.end(),
                                    [](const Place& place) { return place.agent->is_grown; });
  const bool is_aged = its.recent.advance(its.use, use, its.lasts, now);
  const bool is_other = is_freed || is_aged || use != its.use;
  its.use = use;
  const bool is_less = (is_other || its.is_changed) && withhold(name, its, *role);
  its.is_changed = false;
  if (its.recent.most() != use) {
    const Time at = its.recent.next_step();
    review_at_ = review_at_ ? std::min(*review_at_, at) : at;
  }
  return is_less;
}

// Only what is free of a place is withheld: the role may run there now, and so may short tasks.
bool Withheld::withhold(const RoleName& name, Case& its, const Role& role) {
  const ResourceVector recent = its.recent.most();
  const ResourceVector most = recent.min(role.whole_guarantee.amounts(recent));
  ResourceVector left = (most - its.use).max(ResourceVector());
  bool is_less = false;
  for (Place& place : its.places) {
    // It may get reservations later.
    const bool is_there = place.agent->serves() && place.agent->parts.empty();
    place.amounts = place.amounts.min(most);
    ResourceVector here;
    if (is_there) here = place.amounts.min(left).min(place.agent->free_and_kept().amounts);
    left -= here;
    is_less = set_withheld(name, *place.agent, here, its.lasts) || is_less;
  }
  std::erase_if(its.places, [](const Place& place) { return place.amounts.is_zero(); });
  return is_less;
}

// Returns whether that is less than before, or for longer tasks.
bool Withheld::set_withheld(const RoleName& name, Agent& a, const ResourceVector& amounts,
                            Duration lasts) {
  const auto at = std::find_if(a.withheld.begin(), a.withheld.end(),
                               [&](const AgentState::Withheld& one) { return one.role == name; });
  const bool was = at != a.withheld.end();
  if (!was && amounts.is_zero()) return false;
  const bool is_less = was && (!at->amounts.fits_in(amounts) || at->lasts < lasts);
  if (amounts.is_zero()) {
    a.withheld.erase(at);
  } else if (was) {
    *at = {.role = name, .amounts = amounts, .lasts = lasts};
  } else {
    a.withheld.push_back({.role = name, .amounts = amounts, .lasts = lasts});
  }
  a.withheld.empty() ? void(cluster_.withholding.erase(&a)) : void(cluster_.withholding.insert(&a));
  if (is_less) cluster_.refresh(a, true);
  return is_less;
}

// An ask that a guarantee covers since its role uses less may have what is withheld for others.
void Withheld::wake_covered() {
  if (cluster_.withholding.empty()) return;
  for (const Role* role : cluster_.tree.below_guarantee()) {
    if (cases_.count(role->name) > 0) continue;
    for_each_leaf(*role, [&](Leaf& l) {
      if (!l.wants_offers()) return;
      l.retry.insert(cluster_.withholding.begin(), cluster_.withholding.end());
      cluster_.update_demand(l, true);
    });
  }
}

void Withheld::leave(Agent& a) {
  for (auto& [name, its] : cases_) {
    std::erase_if(its.places, [&](const Place& place) { return place.agent == &a; });
  }
  a.withheld.clear();
  cluster_.withholding.erase(&a);
}

void Withheld::check(std::vector<Violation>& found) const {
  std::map<RoleName, ResourceVector> sums;
  for (const auto& [id, a] : cluster_.agents) {
    if (a->withheld.empty() == (cluster_.withholding.count(a.get()) > 0)) {
      found.push_back({text("agent ", id.str(), ": what it withholds is not recorded")});
    }
    for (const AgentState::Withheld& one : a->withheld) sums[one.role] += one.amounts;
  }
  if (cluster_.dirty) return;
  for (const auto& [name, sum] : sums) {
    const Role* const role = cluster_.tree.find(name);
    const bool is_promised = role != nullptr && role->has_guarantee();
    if (!is_promised || !beyond_guarantee(*role, role->use(), sum).is_zero()) {
      found.push_back({text("more is withheld for role ", name.str(),
                            " than it does not use of its "
                            "guarantee: ",
                            to_text(sum))});
    }
  }
}

}  // namespace proffer::fair
