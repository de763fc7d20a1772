// Takes lent resources back. Begin with take_back_lent().

#include "allocator/waiting/lending.h"

#include <algorithm>
#include <tuple>

#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"
#include "allocator/waiting/claims.h"

namespace proffer::fair {
namespace {

using LentTask = std::pair<const Task*, TaskRef>;

// Lower bands first; within a band the youngest task first.
void sort_as_victims(std::vector<LentTask>& tasks) {
  std::sort(tasks.begin(), tasks.end(), [](const LentTask& x, const LentTask& y) {
    return std::tuple(x.first->claim().band, y.first->since, y.second) <
           std::tuple(y.first->claim().band, x.first->since, x.second);
  });
}

}  // namespace

Obstacles obstacles_of(const Cluster& cluster, const Claims& claims, const AskEntry& ask,
                       Time now) {
  Obstacles found;
  int64_t left = ask.ask.gang;
  const RoleName& role = ask.leaf->role->name;
  for (Agent* const on : claims.agents_of(ask)) {
    Agent& a = *on;
    const int64_t most = ask.counts.room(ask.ask, a, std::min(capacity(ask, a), left));
    Books books = a;
    books.keep = {};
    const auto room = [&] {
      books.compute_free();
      return count_that_fits(ask.ask.shape, books, role, most);
    };
    std::vector<LentTask> lent;
    for (const auto& [ref, task] : a.tasks) {
      if (task.ends_by()) books.end_allocated(task.booked());
      const bool may_end = task.is_lent() && !task.ends_by() && !task.is_kept_until(now);
      if (may_end) lent.push_back({&task, ref});
    }
    int64_t fits_here = room();
    const std::vector<OfferId> offers = offers_of(a);
    for (auto id = offers.rbegin(); id != offers.rend() && fits_here < most; ++id) {
      const OutstandingOffer& offer = *cluster.outstanding.find(*id);
      if (!offer.lent) continue;
      books.end_offered(offer);
      found.offers.push_back(*id);
      fits_here = room();
    }
    sort_as_victims(lent);
    for (const auto& [task, ref] : lent) {
      if (fits_here >= most) break;
      books.end_allocated(task->booked());
      found.tasks.push_back({&a, ref});
      fits_here = room();
    }
    left -= fits_here;
  }
  found.would_do = left == 0;
  return found;
}

bool take_back_lent(Cluster& cluster, const Claims& claims, Time now) {
  bool some_offers = false;
  std::vector<AskEntry*> claimants;
  for (const auto& [order, ask] : claims.all()) claimants.push_back(ask);
  for (AskEntry* ask : claimants) {
    const Obstacles obstacles = obstacles_of(cluster, claims, *ask, now);
    if (!obstacles.would_do || !denial(cluster, *ask).is_none()) continue;
    for (const OfferId& id : obstacles.offers) cluster.rescind(id, RescindReason::kReclaimed);
    some_offers = some_offers || !obstacles.offers.empty();
    for (const auto& [a, task] : obstacles.tasks) {
      cluster.tell_to_end(*a, task, RevokeReason::kLent, ask->leaf->role->name, now);
    }
  }
  return some_offers;
}

void take_back_estimates(Cluster& cluster, Time now) {
  for (Agent* a : cluster.estimating) {
    Books books = *a;
    std::vector<LentTask> tasks;
    for (const auto& [ref, task] : a->tasks) {
      if (task.estimated().is_zero()) continue;
      if (task.ends_by()) {
        books.end_allocated(task.booked());
      } else {
        tasks.push_back({&task, ref});
      }
    }
    sort_as_victims(tasks);
    for (const auto& [task, ref] : tasks) {
      const Part* estimate = books.estimate();
      if (estimate == nullptr || estimate->allocated.amounts().fits_in(estimate->total.amounts)) {
        break;
      }
      books.end_allocated(task->booked());
      cluster.tell_to_end(*a, ref, RevokeReason::kEstimate, {}, now);
    }
  }
}

}  // namespace proffer::fair
