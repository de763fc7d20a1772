// Remedies of an ask: single changes that suffice alone, while all else stays as it is.
// RemedySearch::all() lists the changes that are tried; fitting.h applies the rules of a decision
// to each, so that only effective changes are reported.
//
// For one ask: O(agents) for each kind of its shape and each of its constraints, times log(amounts)
// for gangs; O(tasks) sums to find victims, and at most kTriesMax trials on copies of the books;
// O(roles with guarantees * log(amounts)) if headroom is held. Not on the path of decisions.

#include <algorithm>

#include "allocator/explain/endings.h"
#include "allocator/explain/fitting.h"
#include "allocator/explain/largest.h"
#include "allocator/explain/rivals.h"
#include "allocator/waiting/backfill.h"
#include "allocator/waiting/waiting.h"

namespace proffer::fair {
namespace {

// The possible amounts of a kind in a shape, in order, from 1: for GPUs parts of a device, then
// whole devices.
int64_t amount_at(ResourceKind kind, int64_t place) {
  if (kind != ResourceKind::kGpus || place < kWholeDevice) return place;
  return (place - kWholeDevice + 1) * kWholeDevice;
}
int64_t place_of(ResourceKind kind, int64_t amount) {
  if (kind != ResourceKind::kGpus || amount < kWholeDevice) return amount;
  return amount / kWholeDevice + kWholeDevice - 1;
}

}  // namespace

class RemedySearch {
 public:
  RemedySearch(const Cluster& cluster, const Waiting& waiting, const AskEntry& entry, Time now)
      : cluster_(cluster),
        waiting_(waiting),
        entry_(entry),
        ask_(entry.ask),
        now_(now),
        as_it_is_(cluster, entry, now),
        rivals_(cluster, waiting.gate, entry, now),
        endings_(cluster, entry, as_it_is_, now) {}

  std::vector<Remedy> all() {
    if (as_it_is_.fits()) return {};
    take_less();
    start_fewer_together();
    insist_on_less();
    end_sooner();
    change_quota();
    end_what_is_there();
    change_agents();
    if (Fitting(cluster_, entry_, now_, false).fits() && comes(wait_ends())) {
      add({.kind = RemedyKind::kWaitEnds, .until = wait_ends()}, {});
    }
    return std::move(found_);
  }

 private:
  Time wait_ends() const { return later(entry_.prefers_since, ask_.prefer.wait); }
  // Whether the ask will not have expired.
  bool comes(Time at) const { return !entry_.expires || at < *entry_.expires; }
  bool would_fit(Ask declared) const {
    return Fitting(cluster_, entry_, std::move(declared), now_).fits();
  }

  void add(Remedy remedy, const Rivals::Change& change) {
    remedy.first = rivals_.before(change);
    found_.push_back(std::move(remedy));
  }

  // --- changes of the ask ------------------------------------------------------------------------

  // The entitlement of an ask that may not borrow depends on its shape: such asks get no remedy
  // here.
  void take_less() {
    if (!ask_.borrow || would_fit(ask_)) return;
    for (const ResourceKind kind : kResourceKinds) {
      if (ask_.shape[kind] > 0) take_less_of(kind);
    }
    if (ask_.ports == 0) return;
    const auto fits_with = [&](int64_t ports) {
      Ask less = ask_;
      less.ports = ports;
      less.static_ports.clear();
      return would_fit(std::move(less));
    };
    if (!fits_with(0)) return;
    add_anew({.kind = RemedyKind::kTakesLess, .amount = largest(0, ask_.ports - 1, fits_with)});
  }

  void take_less_of(ResourceKind kind) {
    const auto with = [&](int64_t place) {
      Ask less = ask_;
      less.shape[kind] = amount_at(kind, place);
      return less;
    };
    const Fitting least(cluster_, entry_, with(1), now_);
    if (!least.fits()) return;
    const int64_t most = place_of(kind, ask_.shape[kind]) - 1;
    if (most < 1) return;
    int64_t best = 1;
    if (ask_.gang > 1) {
      best = largest(1, most, [&](int64_t place) { return would_fit(with(place)); });
    } else {
      AskEntry less = least.entry();
      for (const Agent* a : least.usable()) {
        const auto fits_there = [&](int64_t place) {
          less.ask.shape[kind] = amount_at(kind, place);
          return room_for(less, *a, 1) > 0;
        };
        if (best == most || !fits_there(best + 1)) continue;
        best = largest(best + 1, most, fits_there);
      }
      best = largest(1, best,
                     [&](int64_t place) { return least.denied_of(with(place).shape).is_none(); });
    }
    add_anew({.kind = RemedyKind::kTakesLess, .resource = kind, .amount = amount_at(kind, best)});
  }

  void start_fewer_together() {
    if (ask_.gang == 1 || !ask_.borrow || ask_.max_per.size() > 1 || would_fit(ask_)) return;
    const auto fits_with = [&](int64_t gang) {
      Ask fewer = ask_;
      fewer.gang = gang;
      return would_fit(std::move(fewer));
    };
    if (!fits_with(1)) return;
    add_anew({.kind = RemedyKind::kFewerTogether, .amount = largest(1, ask_.gang - 1, fits_with)});
  }

  void insist_on_less() {
    for (size_t i = 0; i < ask_.constraints.size(); ++i) {
      Ask less = ask_;
      less.constraints.erase(less.constraints.begin() + static_cast<std::ptrdiff_t>(i));
      if (!would_fit(std::move(less))) continue;
      add_anew({.kind = RemedyKind::kWithoutConstraint,
                .constraint = proffer::to_text(ask_.constraints[i])});
    }
    for (size_t i = 0; i < ask_.max_per.size(); ++i) {
      Ask less = ask_;
      less.max_per.erase(less.max_per.begin() + static_cast<std::ptrdiff_t>(i));
      if (!would_fit(std::move(less))) continue;
      add_anew({.kind = RemedyKind::kWithoutMaxPer, .constraint = ask_.max_per[i].attribute});
    }
    if (ask_.borrow) return;
    Ask more = ask_;
    more.borrow = true;
    if (would_fit(std::move(more))) add_anew({.kind = RemedyKind::kMayBorrow});
  }

  // The longest time limit with which the ask backfills a claim. Not for an ask with resources set
  // aside.
  void end_sooner() {
    if (ask_.revocable_ok || ask_.gang > 1 || !ask_.borrow || !entry_.set_aside.empty()) return;
    Ask limited = ask_;
    limited.max_run_time = seconds(1);
    const Fitting declared(cluster_, entry_, limited, now_);
    if (!declared.denied().is_none()) return;
    Remedy best{.kind = RemedyKind::kShorterLimit};
    for (const auto& [order, claimant] : waiting_.claims.all()) {
      const std::optional<Duration> longest =
          backfill_limit(cluster_, declared.entry(), *claimant,
                         waiting_.claims.complete_at(*claimant, now_), now_);
      if (!longest) continue;
      const Duration limit = seconds(std::min(*longest, kDurationMax).nanos() / seconds(1).nanos());
      const bool is_known = ask_.max_run_time > Duration() && ask_.max_run_time <= limit;
      if (limit <= best.time_limit || is_known) continue;
      for (const Agent* a : waiting_.claims.agents_of(*claimant)) {
        if (!has_room_to_backfill(declared.entry(), *a) || declared.is_declined(*a) ||
            !a->serves() || !may_hold(declared.entry(), *a, now_)) {
          continue;
        }
        best.time_limit = limit;
        best.agent = a->id;
        best.framework = claimant->leaf->framework;
        break;
      }
    }
    if (best.time_limit >= seconds(1)) add_anew(std::move(best));
  }

  // If the ask is declared anew, resources set aside for it are free for others, and filters of its
  // framework with a reason end.
  void add_anew(Remedy remedy) {
    std::vector<AgentState> agents;
    agents.reserve(entry_.set_aside.size());
    Rivals::Change released{.declares_anew = true};
    for (const Agent* a : entry_.set_aside) {
      agents.push_back(without_keep(*a));
      released.more.push_back(&agents.back());
    }
    const std::vector<std::string> own = rivals_.before(not_declined(true));
    remedy.first = rivals_.before(released);
    for (const std::string& name : own) {
      const auto at = std::find(remedy.first.begin(), remedy.first.end(), name);
      if (at == remedy.first.end()) remedy.first.push_back(name);
    }
    found_.push_back(std::move(remedy));
  }

  // A change in which the framework declines no agent.
  Rivals::Change not_declined(bool declares_anew) const {
    const Framework& owner = *entry_.leaf->owner;
    Rivals::Change change{.only = &owner, .entitles_anew = true, .declares_anew = declares_anew};
    for (const auto& [id, a] : cluster_.agents) {
      const std::optional<Filter> filter = owner.filter_on(*a);
      if (!filter || (declares_anew && filter->until)) continue;
      change.more.push_back(a.get());
    }
    return change;
  }

  // --- changes of quota --------------------------------------------------------------------------

  void change_quota() {
    if (!as_it_is_.has_places()) return;
    const Denial denied = as_it_is_.denied();
    if (denied.why == Denial::Why::kLimit) raise_limit();
    if (denied.why == Denial::Why::kGuarantees) lower_guarantees();
  }

  // Whether these settings are permitted and make the ask fit.
  bool fits_with(Role& role, const RoleSettings& settings) const {
    if (!check_role(cluster_.role_table, role.name, settings)) return false;
    Supposed as_if;
    as_if.set(role, settings);
    return as_it_is_.fits(as_if);
  }

  void raise_limit() {
    const ResourceVector more = entry_.at_once();
    for (Role* role = entry_.leaf->role; role->parent != nullptr; role = role->parent) {
      // A part of the room below a limit may be kept for others, but not before all asks.
      const ResourceVector kept = kept_below(cluster_, *role, &entry_);
      const ResourceVector then = role->use() + more;
      if (raise_limit_to(*role, then)) continue;
      ResourceVector with_kept = then;
      for (const ResourceKind kind : kResourceKinds) {
        if (more[kind] > 0) with_kept[kind] += kept[kind];
      }
      if (with_kept != then) raise_limit_to(*role, with_kept);
    }
  }

  bool raise_limit_to(Role& role, const ResourceVector& use) {
    if (role.settings.limit.contains(use)) return false;
    RoleSettings settings = role.settings;
    for (const ResourceKind kind : kResourceKinds) {
      const std::optional<int64_t> most = settings.limit[kind];
      if (most && *most < use[kind]) settings.limit.set(kind, use[kind]);
    }
    if (!fits_with(role, settings)) return false;
    add_as_if(role, settings,
              {.kind = RemedyKind::kLimitRaised, .role = role.name, .quota = settings.limit});
    return true;
  }

  void lower_guarantees() {
    const ResourceVector more = entry_.at_once();
    for (const auto& [name, role] : cluster_.tree.roles()) {
      if (!role->has_guarantee() || is_within(entry_.leaf->role->name, name)) continue;
      RoleSettings settings = role->settings;
      for (const ResourceKind kind : kResourceKinds) {
        if (more[kind] > 0 && settings.guarantee[kind]) settings.guarantee.set(kind, 0);
      }
      if (!fits_with(*role, settings)) continue;
      // The held amount of a kind depends only on guarantees for that kind.
      for (const ResourceKind kind : kResourceKinds) {
        const std::optional<int64_t> promised = role->settings.guarantee[kind];
        if (more[kind] == 0 || !promised) continue;
        settings.guarantee.set(kind, largest(0, *promised, [&, &at = *role](int64_t amount) {
                                 RoleSettings less = settings;
                                 less.guarantee.set(kind, amount);
                                 return fits_with(at, less);
                               }));
      }
      add_as_if(*role, settings,
                {.kind = RemedyKind::kGuaranteeLowered, .role = name, .quota = settings.guarantee});
    }
  }

  void add_as_if(Role& role, const RoleSettings& settings, Remedy remedy) {
    Supposed as_if;
    as_if.set(role, settings);
    add(std::move(remedy), {.as_if = &as_if, .entitles_anew = true});
  }

  // --- what would have to end --------------------------------------------------------------------

  void end_what_is_there() {
    const std::optional<Release> tasks = endings_.cheapest(true, false);
    const std::optional<Release> offers = endings_.cheapest(false, true);
    if (tasks) note(*tasks, RemedyKind::kTasksEnd);
    if (offers) note(*offers, RemedyKind::kOffersEnd);
    if (tasks || offers) return;
    if (const std::optional<Release> both = endings_.cheapest(true, true)) {
      note(*both, RemedyKind::kTasksEnd);
    }
  }

  void note(const Release& release, RemedyKind kind) {
    Remedy remedy{.kind = kind, .agent = release.agent->id, .until = Time()};
    bool some_offer = false;
    for (const Occupant& one : release.what) {
      Ending end{.framework = one.leaf->framework, .role = one.leaf->role->name};
      std::optional<Time> at;
      if (one.task != nullptr) {
        end.task = one.ref.task;
        at = one.task->ends_by();
      } else {
        end.offer = one.offer->grant->offer.id.value();
        at = one.offer->grant->expires;
        some_offer = true;
      }
      remedy.ends.push_back(std::move(end));
      if (remedy.until && at) remedy.until = std::max(*remedy.until, *at);
      if (!at) remedy.until.reset();
    }
    if (remedy.until && !comes(*remedy.until)) remedy.until.reset();
    const After then = endings_.after(release);
    // An ask whose offers are declined no longer counts in entitlements.
    Rivals::Change change{.as_if = &then.as_if, .ended = then.ended, .entitles_anew = some_offer};
    for (const auto& [a, state] : then.agents) change.more.push_back(&state);
    add(std::move(remedy), change);
  }

  // --- changes of agents -------------------------------------------------------------------------

  // Changes one property of an agent at a time. A change may also help because others, for whom
  // headroom is held, fit there.
  void change_agents() {
    for (const auto& [id, agent] : cluster_.agents) {
      const Agent& a = *agent;
      const bool is_declined = as_it_is_.is_declined(a);
      // The permitted amount of an ask that may not borrow depends on the asks that agents could
      // serve.
      if (ask_.borrow && a.active == a.draining) {
        AgentState then = a;
        then.active = true;
        then.draining = false;
        if (as_it_is_.fits(then, is_declined)) {
          add_first(
              {.kind = a.active ? RemedyKind::kUndrained : RemedyKind::kConnected, .agent = a.id},
              {.more = {&a}, .entitles_anew = true});
        }
      }
      if (is_declined && as_it_is_.fits(a, false)) {
        Remedy remedy{.kind = RemedyKind::kDeclineLifted, .agent = a.id};
        const std::optional<Time> until = entry_.leaf->owner->filter_on(a)->until;
        if (until && comes(*until)) remedy.until = until;
        add_first(std::move(remedy), not_declined(false));
      }
      if (ask_.borrow && a.claimant != nullptr && a.claimant->leaf->owner != entry_.leaf->owner) {
        AgentState then = without_keep(a);
        then.claimant = nullptr;
        if (as_it_is_.fits(then, is_declined)) {
          add_first({.kind = RemedyKind::kUnclaimed,
                     .agent = a.id,
                     .framework = a.claimant->leaf->framework},
                    {.more = {&then}, .entitles_anew = true});
        }
      }
      unreserve(a, is_declined);
    }
  }

  void unreserve(const Agent& a, bool is_declined) {
    if (!ask_.borrow) return;  // The former owner may then get more from others.
    for (const Part& part : a.parts) {
      if (part.revocable || is_within(entry_.leaf->role->name, part.reserved_for)) continue;
      if (part.total.is_zero()) continue;
      AgentState then = a;
      then.total += part.total;
      then.part(part.reserved_for, false).total = {};
      then.compute_free();
      if (!as_it_is_.fits(then, is_declined)) continue;
      add_first({.kind = RemedyKind::kUnreserved, .agent = a.id, .role = part.reserved_for},
                {.more = {&then}, .entitles_anew = true});
    }
  }

  // Adds one remedy of each kind: the one that takes effect by itself earliest (`until`), else the
  // first agent by name.
  void add_first(Remedy remedy, const Rivals::Change& change) {
    const auto known = std::find_if(found_.begin(), found_.end(),
                                    [&](const Remedy& other) { return other.kind == remedy.kind; });
    if (known == found_.end()) return add(std::move(remedy), change);
    if (!remedy.until || (known->until && *known->until <= *remedy.until)) return;
    remedy.first = rivals_.before(change);
    *known = std::move(remedy);
  }

  const Cluster& cluster_;
  const Waiting& waiting_;
  const AskEntry& entry_;
  const Ask& ask_;
  const Time now_;
  const Fitting as_it_is_;
  const Rivals rivals_;
  Endings endings_;
  std::vector<Remedy> found_ = {};
};

std::vector<Remedy> remedies_for(const Cluster& cluster, const Waiting& waiting,
                                 const AskEntry& entry, Time now) {
  if (entry.unmet() == 0 || !entry.leaf->owner->takes_offers()) return {};
  return RemedySearch(cluster, waiting, entry, now).all();
}

}  // namespace proffer::fair
