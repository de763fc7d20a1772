// Plans reclaims. Begin with plan_reclaim() and Planner::look_at().

#include "allocator/waiting/reclaim_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>

#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"
#include "allocator/rules/prospect.h"
#include "allocator/rules/victims.h"
#include "allocator/waiting/reclaims.h"

namespace proffer::fair {
namespace {

// The nodes from which one claimant may reclaim.
struct Borrowers {
  std::vector<Borrower> table = {};
  std::map<const Leaf*, size_t> places = {};             // looked up only
  std::unordered_set<const Framework*> frameworks = {};  // looked up only

  void take(size_t place, const ResourceVector& amounts) {
    for (std::optional<size_t> at = place; at; at = table[*at].above) table[*at].use -= amounts;
  }
};

// Whether `use` is at most `most` in each kind that is above zero in `more` and named by `named`.
bool is_at_most(const ResourceVector& use, const ResourceVector& most, const ResourceVector& more,
                const Quota* named) {
  return std::all_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
    if (more[kind] == 0 || (named != nullptr && !(*named)[kind])) return true;
    return use[kind] <= most[kind];
  });
}

// The kinds that a guarantee covers: all, by the same fraction of the cluster, or only those that
// it names.
enum class Covered : uint8_t { kAllKinds, kNamedKinds };

// Whether the role's guarantee covers `use`; `more` is the new part of `use`.
bool covers(const Role& role, const ResourceVector& use, const ResourceVector& more,
            Covered covered) {
  if (!role.has_guarantee()) return false;
  return covered == Covered::kAllKinds ? is_within_guarantee(role, use - more, more)
                                       : names_within_guarantee(role, use - more, more);
}

// Whether the role's use of the kinds beyond its whole guarantee is within its entitlement. That
// entitlement is higher than the guarantee only if no other role wants these kinds. Beyond it,
// others would reclaim what the role reclaims.
bool is_fair_beyond(const Role& role, const ResourceVector& then, const ResourceVector& more) {
  const ResourceVector beyond = beyond_guarantee(role, then - more, more);
  return std::all_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
    return beyond[kind] == 0 || then[kind] <= role.entitlement[kind];
  });
}

// The used fraction of the guarantee, in its most used kind.
Share filled_by(const Quota& guarantee, const ResourceVector& use) {
  Share filled;
  for (const ResourceKind kind : kResourceKinds) {
    if (!guarantee[kind] || *guarantee[kind] == 0) continue;
    const int64_t amount = std::clamp<int64_t>(use[kind], 0, kAmountMax);
    filled = std::max(filled, Share::of(amount, *guarantee[kind]));
  }
  return filled;
}

// The resources of an agent after the end of some of its tasks.
class After {
 public:
  // Tasks with a notice count as ended, and nothing is kept for other asks.
  explicit After(const Agent& agent) : books_(agent) {
    books_.keep = {};
    if (agent.noticed.is_zero()) return;
    for (const auto& [ref, task] : agent.tasks) {
      if (task.ends_by()) end(task);
    }
  }
  void end(const Task& task) { books_.end_allocated(task.booked()); }
  // Adds `count` tasks of the ask. Returns false if they do not fit.
  bool take(const AskEntry& ask, int64_t count) {
    for (; count > 0; --count) {
      books_.compute_free();
      std::vector<Slice> slices = books_.usable(ask.leaf->role->name);
      const auto taken = proffer::take(ask.ask.shape, slices);
      if (!taken) return false;
      books_.allocate(books_.book(*taken));
    }
    return true;
  }
  // The free amounts that the ask may use.
  ResourceVector free_for(const AskEntry& ask) {
    books_.compute_free();
    if (books_.parts.empty()) return books_.free.amounts;
    ResourceVector sum;
    for (const Slice& slice : books_.usable(ask.leaf->role->name)) sum += slice.resources.amounts;
    return sum;
  }
  bool has_room(const AskEntry& ask, int64_t count) {
    books_.compute_free();
    return count_that_fits(ask.ask.shape, books_, ask.leaf->role->name, count) == count;
  }

 private:
  Books books_;
};

// Tasks with a notice do not count as used; tasks for which the claimant waits do.
Right right_by(const Cluster& cluster, const Reclaims& reclaims, const AskEntry& ask,
               Covered covered) {
  Right right;
  // If it waits for further victims, its task is counted in awaited().
  const ResourceVector more = ask.ask.shape * ask.ask.gang;
  const ResourceVector extra = reclaims.is_short(ask) ? ResourceVector() : more;
  const ResourceVector slack = entitlement_slack(cluster.total);
  bool by_share = cluster.options.reclaim == ReclaimMode::kFairShare;
  // Mostly no guarantee covers the ask; then the entitlements need not be computed.
  const auto is_covered = [&] {
    for (const Role* role = ask.leaf->role; role->parent != nullptr; role = role->parent) {
      const ResourceVector then = role->kept() + reclaims.awaited(*role) + extra;
      if (covers(*role, then, more, covered)) return true;
    }
    return false;
  };
  if (!by_share && !is_covered()) return right;
  know_entitlements(cluster);
  const Role* promise = nullptr;
  bool is_promised = false;  // as in denial()
  const Role& own = *ask.leaf->role;
  if (!ask.ask.borrow &&
      !is_at_most(own.use() + reclaims.awaited(own) + extra, own.entitlement, more, nullptr)) {
    return {};
  }
  for (const Node* node = ask.leaf; node->parent != nullptr; node = node->parent) {
    const ResourceVector then = node->kept() + reclaims.awaited(*node) + extra;
    const ResourceVector entitlement = node->entitlement + slack;
    by_share = by_share && is_at_most(then, entitlement, more, nullptr);
    // An ask that may not borrow could not use resources beyond the entitlement of its role.
    if (!ask.ask.borrow && node == ask.leaf->role &&
        !is_at_most(then, node->entitlement, more, nullptr)) {
      return {};
    }
    if (!node->is_leaf) {
      const Role& role = static_cast<const Role&>(*node);
      const ResourceVector kept = is_promised ? ResourceVector() : kept_below(cluster, role, &ask);
      if (!role.settings.limit.contains(role.use() + reclaims.awaited(role) + extra + kept))
        return {};
      is_promised =
          is_promised || (role.has_guarantee() && is_within_guarantee(role, role.use(), more));
      if (covers(role, then, more, covered) && is_fair_beyond(role, then, more)) {
        promise = &role;
        if (right.closest == nullptr) right.closest = &role;
        right.beyond = right.beyond.max(beyond_guarantee(role, then - more, more));
        right.filled = filled_by(role.settings.guarantee, node->kept() + reclaims.awaited(*node));
      } else if (promise != nullptr &&
                 !is_at_most(then, entitlement, more, &promise->settings.guarantee)) {
        promise = nullptr;
      }
    }
    if (promise != nullptr) right.promise = promise;
    right.reaches.push_back(promise != nullptr || by_share);
  }
  return right;
}

}  // namespace

Right right_of(const Cluster& cluster, const Reclaims& reclaims, const AskEntry& ask) {
  Right right = right_by(cluster, reclaims, ask, Covered::kAllKinds);
  return right.any() ? right : right_by(cluster, reclaims, ask, Covered::kNamedKinds);
}

bool Right::any() const { return std::find(reaches.begin(), reaches.end(), true) != reaches.end(); }

namespace {

// All leaves with tasks, the one that was served last first: of equal borrowers it comes first.
std::vector<const Leaf*> by_last_served(const std::map<LeafId, std::unique_ptr<Leaf>>& leaves) {
  std::vector<const Leaf*> all;
  for (const auto& [id, l] : leaves) {
    if (l->tasks > 0) all.push_back(l.get());
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Leaf* a, const Leaf* b) { return a->served > b->served; });
  return all;
}

// The leaves with tasks, and the roles above them, from which the claimant may reclaim: its right
// reaches them, and the outermost node that is not above the claimant too uses more than its
// entitlement.
Borrowers borrowers_for(const Leaf& claimant, const std::vector<bool>& reaches,
                        const std::map<LeafId, std::unique_ptr<Leaf>>& leaves,
                        const ResourceVector& total) {
  Borrowers found;
  std::vector<const Node*> own;  // from the claimant to the root
  for (const Node* node = &claimant; node != nullptr; node = node->parent) own.push_back(node);
  const ResourceVector slack = entitlement_slack(total);
  std::map<const Node*, size_t> known;  // looked up only
  for (const Leaf* l : by_last_served(leaves)) {
    if (l == &claimant) continue;
    std::vector<const Node*> path = {l};
    auto parting = own.end();
    while (true) {
      parting = std::find(own.begin(), own.end(), path.back()->parent);
      if (parting != own.end()) break;
      path.push_back(path.back()->parent);
    }
    const auto level = static_cast<size_t>(parting - own.begin());
    if (!reaches[level - 1]) continue;
    if (path.back()->kept().fits_in(path.back()->entitlement + slack)) continue;
    std::optional<size_t> above;
    for (auto node = path.rbegin(); node != path.rend(); ++node) {
      const auto [at, is_new] = known.try_emplace(*node, found.table.size());
      if (is_new) {
        found.table.push_back({.above = above,
                               .depth = own.size() - 1 - level,
                               .use = (*node)->kept(),
                               .entitlement = (*node)->entitlement});
        if (!(*node)->is_leaf) {
          found.table.back().guarantee = static_cast<const Role&>(**node).settings.guarantee;
        }
      }
      above = at->second;
    }
    found.places.emplace(l, *above);
    found.frameworks.insert(l->owner);
  }
  return found;
}

// The tasks on one agent without a notice; a gang comes with its tasks on other agents.
std::vector<Victim> victims_on(const Cluster& cluster, const Agent& a) {
  std::vector<Victim> found;
  std::set<std::pair<FrameworkId, uint64_t>> gangs;
  for (const auto& [ref, task] : a.tasks) {
    if (task.ends_by()) continue;
    if (task.claim().gang == 0) {
      found.push_back({{cluster.agents.at(a.id).get(), ref}});
      continue;
    }
    if (!gangs.insert({ref.framework, task.claim().gang}).second) continue;
    Victim gang = cluster.gang_of(ref.framework, task.claim().gang);
    const bool is_ending = std::any_of(gang.begin(), gang.end(), [](const auto& member) {
      return member.first->tasks.at(member.second).ends_by().has_value();
    });
    if (!is_ending) found.push_back(std::move(gang));
  }
  return found;
}

// Makes the plan for one claimant. Each choice counts in the next ones.
class Planner {
 public:
  Planner(const Cluster& cluster, const Reclaims& reclaims, const AskEntry& ask, const Right& right,
          Time now, Time ripe)
      : cluster_(cluster),
        reclaims_(reclaims),
        ask_(ask),
        promise_(right.closest),
        beyond_(right.beyond),
        now_(now),
        ripe_(ripe),
        borrowers_(borrowers_for(*ask.leaf, right.reaches, cluster.leaves, cluster.total)),
        counts_(ask.counts) {
    for (const Agent* a : reclaims.agents_of(ask)) {
      counts_.add(*a, reclaims.find(*a, ask)->tasks);
    }
    plan_.somebody_borrows = !borrowers_.table.empty();
  }

  ReclaimPlan make() {
    for (Agent* a : reclaims_.agents_of(ask_)) {
      const Reclaim& reclaim = *reclaims_.find(*a, ask_);
      if (!reclaim.is_short) continue;
      std::optional<Eviction> eviction = look_at(*a, reclaim.tasks);
      if (eviction) note_ripe(eviction->ripe_at);
      if (eviction && !eviction->ripe_at) accept(*eviction, 0);
      return std::move(plan_);
    }
    for (int64_t left = ask_.ask.gang; left > 0; --left) {
      std::optional<Eviction> best = cheapest();
      if (!best) {
        plan_.places.clear();
        plan_.victims.clear();
        return std::move(plan_);
      }
      accept(*best, 1);
    }
    // The ask fits free resources: another rule hinders it.
    if (!helps_) plan_.places.clear();
    return std::move(plan_);
  }

 private:
  // The victims after whose end a number of tasks of the ask fit on an agent, and the costs.
  struct Eviction {
    Agent* agent = nullptr;
    std::vector<Victim> victims = {};
    std::vector<std::pair<size_t, ResourceVector>> taken = {};  // by borrower
    std::optional<Time> ripe_at = {};  // not possible before: then enough tasks are old enough
    bool waits = false;                // for tasks that end by themselves
    bool spares = false;               // waits for tasks that are too young, to spare others

    bool takes_claim = false;
    int band = -1;
    size_t depth = 0;       // the largest depth of an outermost borrower
    Share least_over = {};  // the least excess of an outermost borrower over its entitlement
    int64_t worth = 0;      // victims of a higher priority than a task that could end instead
    int64_t work = 0;       // the lost work
    int64_t tasks = 0;
    int64_t excess = 0;
    bool costs_less_than(const Eviction& o) const {
      return std::tie(band, depth, o.least_over, worth, work, tasks, takes_claim, excess) <
             std::tie(o.band, o.depth, least_over, o.worth, o.work, o.tasks, o.takes_claim,
                      o.excess);
    }
  };
  // The number of possible victims by priority, for each framework and band.
  using Worths = std::map<std::pair<size_t, Band>, std::map<int32_t, int64_t>>;
  // The possible victims on one agent: one row of each vector.
  struct Table {
    std::vector<Candidate> candidates = {};
    std::vector<Victim> victims = {};
    std::vector<int64_t> work = {};    // the work that would be lost
    std::vector<bool> ends_soon = {};  // ends by itself within the grace
    std::vector<bool> is_spared = {};  // its ask has had victims lately
  };

  bool may_be_used(const Agent& a) const {
    if (!a.serves() || !could_ever_fit(ask_, a)) return false;
    if (is_filtered(ask_, a, now_) || a.ports_left() < ask_.ask.ports) return false;
    // Ports of victims do not count.
    if (missing_port(ask_.ask.static_ports, a.free_ports)) return false;
    if (counts_.full(ask_.ask, a) != nullptr) return false;
    if (a.claimant == nullptr || a.claimant == &ask_) return true;
    // The ask may wait behind other claimants. A gang may not: two gangs could each wait for an
    // agent of the other.
    if (a.by_notice()) return ask_.ask.gang == 1;
    // A guarantee says nothing of the asks below the role that has it.
    if (promise_ != nullptr && is_within(a.claimant->leaf->role->name, promise_->name))
      return false;
    // The claim gives way unless its ask has a right to reclaim too.
    return !right_of(cluster_, reclaims_, *a.claimant).any();
  }

  std::optional<Eviction> cheapest() {
    std::optional<Eviction> best;
    for (const auto& [id, a] : cluster_.agents) {
      if (!may_be_used(*a)) continue;
      const auto here = planned_.find(a.get());
      const Reclaim* const reclaim = reclaims_.find(*a, ask_);
      const int64_t others =
          (reclaim != nullptr ? reclaim->tasks : 0) + (here == planned_.end() ? 0 : here->second);
      std::optional<Eviction> eviction = look_at(*a, others + 1);
      if (!eviction) continue;
      if (eviction->ripe_at) {
        note_ripe(eviction->ripe_at);
      } else if (!best || eviction->costs_less_than(*best)) {
        best = std::move(eviction);
      }
    }
    return best;
  }

  // How `wanted` tasks would fit there; empty: they would not.
  std::optional<Eviction> look_at(Agent& a, int64_t wanted) const {
    Eviction found{.agent = &a, .takes_claim = a.claimant != nullptr && a.claimant != &ask_};
    const ResourceVector needed = ask_.ask.shape * wanted;
    After after(a);
    for (const auto& [on, ref] : told_) {
      if (on == &a) after.end(a.tasks.at(ref));
    }
    for (const Reclaim& other : reclaims_.on(a)) {
      if (other.ask != &ask_ && !after.take(*other.ask, other.tasks)) return std::nullopt;
    }
    const ResourceVector free = after.free_for(ask_);
    ResourceVector most = free;
    for (const Agent::Use& use : a.allocated_to) {
      if (borrowers_.frameworks.count(use.framework) > 0) most += use.amounts;
    }
    if (!needed.fits_in(most)) return std::nullopt;
    if (after.has_room(ask_, wanted)) return found;
    ResourceVector lacking = (needed - free).max(ResourceVector());
    for (const ResourceKind kind : kResourceKinds) {
      if (lacking[kind] > 0 && beyond_[kind] > 0) return std::nullopt;
    }
    if (lacking.is_zero()) lacking[ResourceKind::kGpus] = 1;  // The devices do not fit.

    const Table table = table_of(a);
    if (may_wait_on(a)) {
      const auto soon =
          choose(table, a, after, wanted, lacking, [&](size_t i) { return table.ends_soon[i]; });
      if (soon) {
        found.waits = true;
        found.tasks = static_cast<int64_t>(soon->size());
        for (const size_t i : *soon) {
          found.taken.emplace_back(table.candidates[i].borrower, table.candidates[i].amounts);
        }
        return found;
      }
    }
    const auto began_by = [&](Time ripe) {
      return [&table, ripe](size_t i) { return table.candidates[i].since <= ripe; };
    };
    const auto chosen = choose(table, a, after, wanted, lacking, began_by(ripe_));
    if (!chosen) {
      found.ripe_at = ripens(table, [&](Time oldest) {
        return choose(table, a, after, wanted, lacking, began_by(oldest)).has_value();
      });
      if (!found.ripe_at) return std::nullopt;
      return found;
    }
    const std::optional<std::vector<size_t>> instead = chosen_instead(a, table, *chosen, [&] {
      return choose(table, a, after, wanted, lacking, [](size_t) { return true; });
    });
    found.waits = found.spares = instead.has_value();
    const std::vector<size_t>& victims = instead ? *instead : *chosen;
    ResourceVector freed;
    for (const size_t i : victims) {
      const Candidate& candidate = table.candidates[i];
      freed += candidate.amounts;
      found.band = std::max(found.band, static_cast<int>(candidate.band));
      found.tasks += candidate.tasks;
      found.work += table.work[i];
      found.taken.emplace_back(candidate.borrower, candidate.amounts);
      if (!found.waits) found.victims.push_back(table.victims[i]);
      const Borrower& outermost = outermost_of(candidate.borrower);
      const Share over = excess(outermost, cluster_.total);
      found.depth = std::max(found.depth, outermost.depth);
      found.least_over = i == victims.front() ? over : std::min(found.least_over, over);
    }
    found.worth = count_worthier(table, victims);
    found.excess = weighted((freed - lacking).max(ResourceVector()), cluster_.total);
    return found;
  }

  // The victims by the same order if all tasks were old enough, in place of spared ones; empty:
  // there are spared ones among these too, or the ask does not wait.
  template <class Choose>
  std::optional<std::vector<size_t>> chosen_instead(const Agent& a, const Table& table,
                                                    const std::vector<size_t>& chosen,
                                                    Choose choose_of_all) const {
    const auto is_any_spared = [&](const std::vector<size_t>& rows) {
      return std::any_of(rows.begin(), rows.end(), [&](size_t i) { return table.is_spared[i]; });
    };
    if (!may_wait_on(a) || !is_any_spared(chosen)) return std::nullopt;
    std::optional<std::vector<size_t>> instead = choose_of_all();
    if (!instead || is_any_spared(*instead)) return std::nullopt;
    return ripe_at(table, *instead) <= reclaims_.may_spare_until(ask_, now_) ? instead
                                                                             : std::nullopt;
  }

  // Whether the ask may wait there for tasks without a notice. Where it has victims already, the
  // end of such a wait would not be known.
  bool may_wait_on(const Agent& a) const {
    const Reclaim* const known = reclaims_.find(a, ask_);
    return reclaims_.may_wait(ask_) && (known == nullptr || known->waits);
  }

  // When all these victims are old enough.
  Time ripe_at(const Table& table, const std::vector<size_t>& rows) const {
    Time latest = ripe_;
    for (const size_t i : rows) latest = std::max(latest, table.candidates[i].since);
    return later(latest, now_ - ripe_);
  }

  const Borrower& outermost_of(size_t borrower) const {
    while (borrowers_.table[borrower].above) borrower = *borrowers_.table[borrower].above;
    return borrowers_.table[borrower];
  }

  // The number of chosen victims with a higher priority than a task of their framework and band
  // that could end in their place, on any agent.
  int64_t count_worthier(const Table& table, const std::vector<size_t>& chosen) const {
    Worths left;
    const auto place_of = [&](size_t i) {
      return std::pair(table.candidates[i].borrower, table.candidates[i].band);
    };
    for (const size_t i : chosen) {
      const auto known = worths().find(place_of(i));
      if (known != worths().end()) left.insert(*known);
    }
    for (const size_t i : chosen) --left[place_of(i)][table.candidates[i].priority];
    return std::count_if(chosen.begin(), chosen.end(), [&](size_t i) {
      const std::map<int32_t, int64_t>& rest = left[place_of(i)];
      return std::any_of(rest.begin(), rest.end(), [&](const auto& of_priority) {
        return of_priority.first < table.candidates[i].priority && of_priority.second > 0;
      });
    });
  }

  // Counts the possible victims on all agents that may be used, without the chosen ones. O(tasks),
  // once in a plan and again after each choice.
  const Worths& worths() const {
    if (worths_) return *worths_;
    worths_.emplace();
    for (const auto& [id, a] : cluster_.agents) {
      if (!may_be_used(*a)) continue;
      for (const Candidate& candidate : table_of(*a).candidates) {
        if (candidate.since > ripe_) continue;
        ++(*worths_)[{candidate.borrower, candidate.band}][candidate.priority];
      }
    }
    return *worths_;
  }

  Table table_of(const Agent& a) const {
    Table table;
    for (Victim& victim : victims_on(cluster_, a)) {
      Candidate candidate{.tasks = static_cast<int64_t>(victim.size()), .band = Band::kFree};
      int64_t work = 0;
      bool ends_soon = true;
      bool is_spared = false;
      candidate.priority = std::numeric_limits<int32_t>::min();
      bool is_possible = true;
      for (const auto& [on, ref] : victim) {
        const Task& task = on->tasks.at(ref);
        const auto place = borrowers_.places.find(task.leaf);
        is_possible = place != borrowers_.places.end() && told_.count({on, ref}) == 0;
        if (!is_possible) break;
        candidate.borrower = place->second;
        candidate.amounts += task.amounts();
        if (on == &a) candidate.frees += task.amounts();
        candidate.band = std::max(candidate.band, task.claim().band);
        candidate.priority = std::max(candidate.priority, task.claim().priority);
        candidate.since = std::max(candidate.since, task.since);
        work += work_of(task);
        is_spared = is_spared || reclaims_.is_spared(ref.framework, task.ask(), now_);
        const std::optional<Time> ends_at = usually_ends_at(task, now_);
        ends_soon = ends_soon && ends_at && *ends_at <= later(now_, cluster_.options.revoke_grace);
      }
      if (!is_possible) continue;
      table.candidates.push_back(candidate);
      table.victims.push_back(std::move(victim));
      table.work.push_back(work);
      table.ends_soon.push_back(ends_soon);
      table.is_spared.push_back(is_spared);
    }
    return table;
  }

  // The work of the task so far, in weighted amounts times seconds.
  int64_t work_of(const Task& task) const {
    const Duration age = std::max(now_ - task.since, Duration());
    return weighted(task.amounts(), cluster_.total) * (age.nanos() / seconds(1).nanos());
  }

  // The rows of the victims, of the rows for which `may_be` holds.
  template <class MayBe>
  std::optional<std::vector<size_t>> choose(const Table& table, const Agent& a, const After& after,
                                            int64_t wanted, const ResourceVector& lacking,
                                            MayBe may_be) const {
    std::vector<size_t> places;
    std::vector<Candidate> old;
    for (size_t i = 0; i < table.candidates.size(); ++i) {
      if (!may_be(i)) continue;
      places.push_back(i);
      old.push_back(table.candidates[i]);
    }
    const ResourceVector needed = ask_.ask.shape * wanted;
    const ResourceVector free = After(after).free_for(ask_);
    auto chosen = choose_victims(borrowers_.table, old, lacking, cluster_.total,
                                 [&](const std::vector<size_t>& ended) {
                                   ResourceVector sum = free;
                                   for (const size_t i : ended) sum += old[i].frees;
                                   if (!needed.fits_in(sum)) return false;
                                   After then = after;
                                   for (const size_t i : ended) {
                                     for (const auto& [on, ref] : table.victims[places[i]]) {
                                       if (on == &a) then.end(on->tasks.at(ref));
                                     }
                                   }
                                   return then.has_room(ask_, wanted);
                                 });
    if (chosen) {
      for (size_t& i : *chosen) i = places[i];
    }
    return chosen;
  }

  // The earliest time at which enough rows are old enough.
  template <class WouldDo>
  std::optional<Time> ripens(const Table& table, WouldDo would_do) const {
    std::set<Time> later;
    for (const Candidate& candidate : table.candidates) {
      if (candidate.since > ripe_) later.insert(candidate.since);
    }
    const std::vector<Time> times(later.begin(), later.end());
    if (times.empty() || !would_do(times.back())) return std::nullopt;
    const auto first = std::partition_point(times.begin(), times.end(),
                                            [&](Time since) { return !would_do(since); });
    return *first + (now_ - ripe_);
  }

  void note_ripe(std::optional<Time> at) {
    if (at) plan_.ripe_at = plan_.ripe_at ? std::min(*plan_.ripe_at, *at) : *at;
  }

  void accept(Eviction& eviction, int64_t tasks) {
    plan_.waits = plan_.waits || eviction.waits;
    plan_.spares = plan_.spares || eviction.spares;
    helps_ = helps_ || eviction.waits || eviction.takes_claim || !eviction.victims.empty() ||
             !eviction.agent->noticed.is_zero();
    for (const auto& [borrower, amounts] : eviction.taken) borrowers_.take(borrower, amounts);
    if (!eviction.victims.empty()) worths_.reset();
    for (Victim& victim : eviction.victims) {
      told_.insert(victim.begin(), victim.end());
      plan_.victims.push_back(std::move(victim));
    }
    counts_.add(*eviction.agent, tasks);
    planned_[eviction.agent] += tasks;
    plan_.places.push_back({eviction.agent, tasks});
  }

  const Cluster& cluster_;
  const Reclaims& reclaims_;
  const AskEntry& ask_;
  const Role* const promise_;    // the role whose guarantee gives the right, or nullptr
  const ResourceVector beyond_;  // as Right::beyond
  const Time now_;
  const Time ripe_;
  Borrowers borrowers_;
  TaskCounts counts_;  // of the claimant's tasks, with those that are to come
  std::set<std::pair<Agent*, TaskRef>> told_;  // searched, and in an order that is not used
  std::map<const Agent*, int64_t> planned_;    // looked up only
  mutable std::optional<Worths> worths_;       // empty: to be counted
  bool helps_ = false;                         // the plan frees resources
  ReclaimPlan plan_;
};

}  // namespace

ReclaimPlan plan_reclaim(const Cluster& cluster, const Reclaims& reclaims, const AskEntry& ask,
                         const Right& right, Time now, Time ripe) {
  return Planner(cluster, reclaims, ask, right, now, ripe).make();
}

ReclaimPlan plan_anywhere(const Cluster& cluster, const AskEntry& ask, const Right& right) {
  ReclaimPlan plan;
  const Borrowers borrowers =
      borrowers_for(*ask.leaf, right.reaches, cluster.leaves, cluster.total);
  std::vector<Victim> victims;
  std::vector<Candidate> candidates;
  for (const auto& [id, a] : cluster.agents) {
    for (const auto& [ref, task] : a->tasks) {
      const auto place = borrowers.places.find(task.leaf);
      if (task.ends_by() || place == borrowers.places.end()) continue;
      candidates.push_back({.borrower = place->second,
                            .amounts = task.amounts(),
                            .frees = task.amounts(),
                            .band = task.claim().band,
                            .priority = task.claim().priority,
                            .since = task.since});
      victims.push_back({{a.get(), ref}});
    }
  }
  const ResourceVector needed = ask.ask.shape * ask.ask.gang;
  const auto chosen = choose_victims(borrowers.table, candidates, needed, cluster.total,
                                     [&](const std::vector<size_t>& ended) {
                                       ResourceVector sum;
                                       for (const size_t i : ended) {
                                         sum += candidates[i].frees;
                                       }
                                       return needed.fits_in(sum);
                                     });
  if (!chosen) return plan;
  for (const size_t i : *chosen) plan.victims.push_back(std::move(victims[i]));
  return plan;
}

int64_t ReclaimPlan::tasks() const {
  int64_t sum = 0;
  for (const Victim& victim : victims) sum += static_cast<int64_t>(victim.size());
  return sum;
}

}  // namespace proffer::fair
