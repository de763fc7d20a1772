// What would make an ask fit: each remedy is one change that alone suffices, all else as it is now.
// RemedySearch::all() is the list of what is tried; whether it helps is fitting.h's to say, by the
// rules of a decision, so that nothing is said that is not so.
//
// For one ask: O(agents) for each kind of its shape and each of its constraints, times log(amounts)
// for gangs; O(tasks) sums for what would have to end, of which at most kTriesMax are tried on the
// books; O(roles with guarantees * log(amounts)) if headroom is held. Off the path of decisions.

#include <algorithm>
#include <numeric>
#include <tuple>

#include "allocator/explain/fitting.h"

namespace proffer::fair {
namespace {

constexpr int64_t kWholeDevice = 1'000;

constexpr int kTriesMax = 1'000;
// Each computes all entitlements anew.
constexpr int kTriesWithoutBorrowingMax = 100;

// The amounts that a shape may have of a kind, in order, from 1: of gpus parts of a device, then
// whole ones.
int64_t amount_at(ResourceKind kind, int64_t place) {
  if (kind != ResourceKind::kGpus || place < kWholeDevice) return place;
  return (place - kWholeDevice + 1) * kWholeDevice;
}
int64_t place_of(ResourceKind kind, int64_t amount) {
  if (kind != ResourceKind::kGpus || amount < kWholeDevice) return amount;
  return amount / kWholeDevice + kWholeDevice - 1;
}

// The largest in [low, high] of which `holds`; it holds of `low`, and of all below one of which it
// holds.
template <class Holds>
int64_t largest(int64_t low, int64_t high, Holds holds) {
  while (low < high) {
    const int64_t middle = high - (high - low) / 2;
    if (holds(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// A task or an offer of somebody on one agent.
struct Occupant {
  const Task* task = nullptr;  // nullptr: an offer
  TaskRef ref = {};
  const OutstandingOffer* offer = nullptr;
  ResourceVector amounts = {};
  const Leaf* leaf = nullptr;
};
using Occupants = std::vector<Occupant>;

ResourceVector sum_of(const Occupants& occupants) {
  ResourceVector sum;
  for (const Occupant& one : occupants) sum += one.amounts;
  return sum;
}

}  // namespace

class RemedySearch {
 public:
  RemedySearch(const Cluster& cluster, const AskEntry& entry, Time now)
      : cluster_(cluster),
        entry_(entry),
        ask_(entry.ask),
        now_(now),
        as_it_is_(cluster, entry, now),
        tries_left_(ask_.borrow ? kTriesMax : kTriesWithoutBorrowingMax) {}

  std::vector<Remedy> all() {
    if (as_it_is_.fits()) return {};
    take_less();
    start_fewer_together();
    insist_on_less();
    change_quota();
    end_what_is_there();
    change_agents();
    if (Fitting(cluster_, entry_, now_, false).fits() && comes(wait_ends())) {
      found_.push_back({.kind = RemedyKind::kWaitEnds, .until = wait_ends()});
    }
    return std::move(found_);
  }

 private:
  Time wait_ends() const { return later(entry_.prefers_since, ask_.prefer.wait); }
  // Whether the ask will still be wanted.
  bool comes(Time at) const { return !entry_.expires || at < *entry_.expires; }
  bool would_fit(Ask declared) const {
    return Fitting(cluster_, entry_, std::move(declared), now_).fits();
  }

  // --- changes of the ask ------------------------------------------------------------------------

  // What an ask that may not borrow is entitled to depends on what it takes: of those nothing is
  // said here.
  void take_less() {
    if (!ask_.borrow || would_fit(ask_)) return;
    for (const ResourceKind kind : kResourceKinds) {
      if (ask_.shape[kind] > 0) take_less_of(kind);
    }
    if (ask_.ports == 0) return;
    const auto fits_with = [&](int64_t ports) {
      Ask less = ask_;
      less.ports = ports;
      return would_fit(std::move(less));
    };
    if (!fits_with(0)) return;
    found_.push_back(
        {.kind = RemedyKind::kTakesLess, .amount = largest(0, ask_.ports - 1, fits_with)});
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
      for (const Agent* a : least.usable()) {
        const Fitting::There there = least.there(*a);
        const auto fits_there = [&](int64_t place) {
          return least.room(there, with(place).shape) > 0;
        };
        if (best == most || !fits_there(best + 1)) continue;
        best = largest(best + 1, most, fits_there);
      }
      best = largest(1, best,
                     [&](int64_t place) { return least.denied_of(with(place).shape).is_none(); });
    }
    found_.push_back(
        {.kind = RemedyKind::kTakesLess, .resource = kind, .amount = amount_at(kind, best)});
  }

  void start_fewer_together() {
    if (ask_.gang == 1 || !ask_.borrow || ask_.max_per.size() > 1 || would_fit(ask_)) return;
    const auto fits_with = [&](int64_t gang) {
      Ask fewer = ask_;
      fewer.gang = gang;
      return would_fit(std::move(fewer));
    };
    if (!fits_with(1)) return;
    found_.push_back(
        {.kind = RemedyKind::kFewerTogether, .amount = largest(1, ask_.gang - 1, fits_with)});
  }

  void insist_on_less() {
    for (size_t i = 0; i < ask_.constraints.size(); ++i) {
      Ask less = ask_;
      less.constraints.erase(less.constraints.begin() + static_cast<std::ptrdiff_t>(i));
      if (!would_fit(std::move(less))) continue;
      found_.push_back({.kind = RemedyKind::kWithoutConstraint,
                        .constraint = proffer::to_text(ask_.constraints[i])});
    }
    for (size_t i = 0; i < ask_.max_per.size(); ++i) {
      Ask less = ask_;
      less.max_per.erase(less.max_per.begin() + static_cast<std::ptrdiff_t>(i));
      if (!would_fit(std::move(less))) continue;
      found_.push_back(
          {.kind = RemedyKind::kWithoutMaxPer, .constraint = ask_.max_per[i].attribute});
    }
    if (ask_.borrow) return;
    Ask more = ask_;
    more.borrow = true;
    if (would_fit(std::move(more))) found_.push_back({.kind = RemedyKind::kMayBorrow});
  }

  // --- changes of quota --------------------------------------------------------------------------

  void change_quota() {
    if (!as_it_is_.has_places()) return;
    const Denial denied = as_it_is_.denied();
    if (denied.why == Denial::Why::kLimit) raise_limit();
    if (denied.why == Denial::Why::kGuarantees) lower_guarantees();
  }

  // Whether the role may be set so, and the ask fits then.
  bool fits_with(Role& role, const RoleSettings& settings) const {
    if (!check_role(cluster_.role_table, role.name, settings)) return false;
    Supposed as_if(cluster_);
    as_if.set(role, settings);
    return as_it_is_.fits();
  }

  void raise_limit() {
    const ResourceVector more = entry_.at_once();
    for (Role* role = entry_.leaf->role; role->parent != nullptr; role = role->parent) {
      // Some of what a limit leaves may be kept for others, but not before all.
      const ResourceVector kept = kept_below(*role, &entry_);
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
    found_.push_back(
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
      // What is held of a kind depends on what is promised of it alone.
      for (const ResourceKind kind : kResourceKinds) {
        const std::optional<int64_t> promised = role->settings.guarantee[kind];
        if (more[kind] == 0 || !promised) continue;
        settings.guarantee.set(kind, largest(0, *promised, [&, &at = *role](int64_t amount) {
                                 RoleSettings less = settings;
                                 less.guarantee.set(kind, amount);
                                 return fits_with(at, less);
                               }));
      }
      found_.push_back(
          {.kind = RemedyKind::kGuaranteeLowered, .role = name, .quota = settings.guarantee});
    }
  }

  // --- what would have to end --------------------------------------------------------------------

  struct Release {
    const Agent* agent = nullptr;
    Occupants what = {};
    int64_t worth = 0;
    auto cost() const { return std::tuple(what.size(), worth); }
  };

  void end_what_is_there() {
    const std::optional<Release> tasks = cheapest(true, false);
    const std::optional<Release> offers = cheapest(false, true);
    if (tasks) note(*tasks, RemedyKind::kTasksEnd);
    if (offers) note(*offers, RemedyKind::kOffersEnd);
    if (tasks || offers) return;
    if (const std::optional<Release> both = cheapest(true, true)) {
      note(*both, RemedyKind::kTasksEnd);
    }
  }

  void note(const Release& release, RemedyKind kind) {
    Remedy remedy{.kind = kind, .agent = release.agent->id, .until = Time()};
    for (const Occupant& one : release.what) {
      Ending end{.framework = one.leaf->framework, .role = one.leaf->role->name};
      std::optional<Time> at;
      if (one.task != nullptr) {
        end.task = one.ref.task;
        at = one.task->ends_by;
      } else {
        end.offer = one.offer->grant->offer.id.value();
        at = one.offer->grant->expires;
      }
      remedy.ends.push_back(std::move(end));
      if (remedy.until && at) remedy.until = std::max(*remedy.until, *at);
      if (!at) remedy.until.reset();
    }
    if (remedy.until && !comes(*remedy.until)) remedy.until.reset();
    found_.push_back(std::move(remedy));
  }

  // The fewest on one agent, of equals the least; the smallest set is found if it is one, else one
  // of which none can be left out.
  std::optional<Release> cheapest(bool tasks, bool offers) {
    std::optional<Release> best;
    const auto consider = [&](Release release) {
      if (!best || release.cost() < best->cost()) best = std::move(release);
    };
    const bool needs_place = !as_it_is_.has_places();
    const Denial denied = as_it_is_.denied();
    for (const auto& [id, agent] : cluster_.agents) {
      const Agent& a = *agent;
      const Fitting::There there = as_it_is_.there(a);
      const bool is_place = there.serves && !there.is_claimed && as_it_is_.suits(a);
      if (needs_place && !is_place) continue;
      Occupants all = occupants_of(a, tasks, offers, needs_place ? Denial() : denied);
      if (all.empty()) continue;
      const ResourceVector free = proffer::sum_of(a.usable(entry_.leaf->role->name)).amounts;
      if (needs_place && !ask_.shape.fits_in(free + sum_of(all))) continue;
      const ResourceVector lacking =
          needs_place ? (ask_.shape - free).max(ResourceVector()) : entry_.at_once();
      for (const Occupant& one : all) {
        if (needs_place && ask_.gang == 1 && !lacking.fits_in(one.amounts)) continue;
        Release release{.agent = &a, .what = {one}, .worth = worth_of(one.amounts)};
        if (best && best->cost() <= release.cost()) continue;
        if (fits_without(a, release.what)) consider(std::move(release));
      }
      if (all.size() == 1 || (best && best->what.size() == 1)) continue;
      if (needs_place && !may_hold(all, lacking)) continue;
      if (std::optional<Release> several = several_on(a, std::move(all), lacking)) {
        consider(*std::move(several));
      }
      if (tries_left_ <= 0) break;
    }
    return best;
  }

  // Whether so few as may be told could hold that much at all.
  static bool may_hold(const Occupants& all, const ResourceVector& lacking) {
    return std::all_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
      if (lacking[kind] == 0) return true;
      std::vector<int64_t> amounts;
      for (const Occupant& one : all) amounts.push_back(one.amounts[kind]);
      std::sort(amounts.rbegin(), amounts.rend());
      amounts.resize(std::min(amounts.size(), kRemedyEndsMax));
      return std::accumulate(amounts.begin(), amounts.end(), int64_t{0}) >= lacking[kind];
    });
  }

  // Those that hold most of what is lacking first; none that is not needed.
  std::optional<Release> several_on(const Agent& a, Occupants all, const ResourceVector& lacking) {
    const auto helps = [&](const Occupant& one) {
      return worth_of(lacking.is_zero() ? one.amounts : one.amounts.min(lacking));
    };
    std::stable_sort(all.begin(), all.end(),
                     [&](const Occupant& x, const Occupant& y) { return helps(x) > helps(y); });
    const auto first = [&](int64_t count) {
      return Occupants(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
    };
    const auto count = static_cast<int64_t>(all.size());
    if (!fits_without(a, all)) return std::nullopt;
    const int64_t spared = largest(
        0, count - 1, [&](int64_t without) { return fits_without(a, first(count - without)); });
    Occupants needed = first(count - spared);
    if (needed.size() > kRemedyEndsMax) return std::nullopt;
    for (size_t i = needed.size(); i-- > 0 && needed.size() > 1;) {
      Occupants fewer = needed;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (fits_without(a, fewer)) needed = std::move(fewer);
    }
    // When no more may be tried nothing is known to be needed.
    if (tries_left_ <= 0) return std::nullopt;
    Release release{.agent = &a, .what = std::move(needed)};
    release.worth = worth_of(sum_of(release.what));
    return release;
  }

  int64_t worth_of(const ResourceVector& amounts) const {
    return weighted(amounts, cluster_.total);
  }

  // Tasks of others, and offers to them, that may help against the denial, if there is one. Of its
  // own tasks nothing is said: its framework knows them, and would only change one for another.
  Occupants occupants_of(const Agent& a, bool tasks, bool offers, const Denial& denied) const {
    const auto helps = [&](const Occupant& one) {
      if (denied.is_none()) return true;
      if (one.amounts[denied.kind] == 0) return false;
      return denied.why != Denial::Why::kLimit ||
             is_within(one.leaf->role->name, denied.role->name);
    };
    Occupants all;
    const auto consider = [&](Occupant one) {
      if (helps(one)) all.push_back(std::move(one));
    };
    if (tasks) {
      for (const auto& [ref, task] : a.tasks) {
        if (task.leaf->owner == entry_.leaf->owner) continue;
        consider({.task = &task, .ref = ref, .amounts = task.resources.amounts, .leaf = task.leaf});
      }
    }
    if (offers) {
      for (const OfferId& id : offers_of(a)) {
        const OutstandingOffer& offer = *cluster_.outstanding.find(id);
        // What it declines itself, or lets expire, it is not offered again for a while.
        if (offer.leaf->owner == entry_.leaf->owner) continue;
        consider({.offer = &offer, .amounts = offer.resources.amounts, .leaf = offer.leaf});
      }
    }
    return all;
  }

  bool fits_without(const Agent& a, const Occupants& ended) {
    if (--tries_left_ < 0) return false;
    Books books = a;
    Fitting::There there = as_it_is_.there(a);
    Supposed as_if(cluster_);
    for (const Occupant& one : ended) {
      if (one.task != nullptr) {
        books.end_allocated(*one.task);
        as_if.end(a, *one.task);
      } else {
        books.end_offered(*one.offer);
        as_if.end(*one.offer);
        there.ports_left += one.offer->ports;
      }
    }
    books.compute_free();
    there.books = &books;
    there.is_declined = as_it_is_.is_declined(a, books);  // It may have been too little.
    return as_it_is_.fits(there);
  }

  // --- changes of agents -------------------------------------------------------------------------

  // One thing at a time. It may also help by what others, for whom headroom is held, find there.
  void change_agents() {
    for (const auto& [id, agent] : cluster_.agents) {
      const Agent& a = *agent;
      const Fitting::There there = as_it_is_.there(a);
      const auto would_help = [&](bool Fitting::There::*what, bool value) {
        if (there.*what == value) return false;
        Fitting::There then = there;
        then.*what = value;
        return as_it_is_.fits(then);
      };
      if (a.active == a.draining && would_help(&Fitting::There::serves, true)) {
        add_first(
            {.kind = a.active ? RemedyKind::kUndrained : RemedyKind::kConnected, .agent = a.id});
      }
      if (would_help(&Fitting::There::is_declined, false)) {
        Remedy remedy{.kind = RemedyKind::kDeclineLifted, .agent = a.id};
        const std::optional<Time> until = entry_.leaf->owner->filter_on(a)->until;
        if (until && comes(*until)) remedy.until = until;
        add_first(std::move(remedy));
      }
      if (ask_.borrow && would_help(&Fitting::There::is_claimed, false)) {
        add_first({.kind = RemedyKind::kUnclaimed,
                   .agent = a.id,
                   .framework = a.claimant->leaf->framework});
      }
      unreserve(a, there);
    }
  }

  void unreserve(const Agent& a, const Fitting::There& there) {
    if (!ask_.borrow) return;  // Whose it was may be given more of others then.
    for (const Part& part : a.parts) {
      if (part.revocable || is_within(entry_.leaf->role->name, part.reserved_for)) continue;
      if (part.total.is_zero()) continue;
      Books books = a;
      books.total += part.total;
      books.part(part.reserved_for, false).total = {};
      books.compute_free();
      Fitting::There then = there;
      then.books = &books;
      if (!as_it_is_.fits(then)) continue;
      add_first({.kind = RemedyKind::kUnreserved, .agent = a.id, .role = part.reserved_for});
    }
  }

  // One of a kind: the one that comes first by itself, else the first agent by name.
  void add_first(Remedy remedy) {
    const auto known = std::find_if(found_.begin(), found_.end(),
                                    [&](const Remedy& other) { return other.kind == remedy.kind; });
    if (known == found_.end()) {
      found_.push_back(std::move(remedy));
    } else if (remedy.until && (!known->until || *remedy.until < *known->until)) {
      *known = std::move(remedy);
    }
  }

  const Cluster& cluster_;
  const AskEntry& entry_;
  const Ask& ask_;
  const Time now_;
  const Fitting as_it_is_;
  int tries_left_ = 0;
  std::vector<Remedy> found_ = {};
};

std::vector<Remedy> remedies_for(const Cluster& cluster, const AskEntry& entry, Time now) {
  if (entry.unmet() == 0 || !entry.leaf->owner->active || entry.leaf->owner->suppressed) return {};
  return RemedySearch(cluster, entry, now).all();
}

}  // namespace proffer::fair
