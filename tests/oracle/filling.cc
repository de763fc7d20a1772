// Progressive filling, with divisible tasks in fill() and with whole tasks in fill_whole().
//
// fill() goes from level to level. A level is the weighted dominant share of all growing roles. The
// next event is that a role has all its tasks, or that a kind is exhausted; both levels follow from
// the speed of growth. There is at most one round for each demand.

#include "tests/oracle/filling.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "common/check.h"

namespace proffer::ideal {
namespace {

void check(const ResourceVector& pool, const std::vector<Demand>& demands) {
  for (const ResourceKind kind : kResourceKinds) {
    CHECK(pool[kind] >= 0 && pool[kind] <= kAmountMax) << pool[kind];
    for (const Demand& demand : demands) {
      CHECK(demand.task[kind] >= 0 && demand.task[kind] <= kAmountMax) << demand.task[kind];
    }
  }
  for (const Demand& demand : demands) {
    CHECK(demand.weight >= kWeightMin && demand.weight <= kWeightMax) << demand.weight;
    if (demand.count) CHECK(*demand.count >= 0 && *demand.count <= kAskCountMax) << *demand.count;
  }
}

// Units do not matter, and small numbers stay exact for longer.
void choose_units(ResourceVector& pool, std::vector<Demand>& demands) {
  for (const ResourceKind kind : kResourceKinds) {
    int64_t unit = pool[kind];
    for (const Demand& demand : demands) unit = std::gcd(unit, demand.task[kind]);
    if (unit == 0) continue;
    pool[kind] /= unit;
    for (Demand& demand : demands) demand.task[kind] /= unit;
  }
  int64_t unit = 0;
  for (const Demand& demand : demands) unit = std::gcd(unit, demand.weight);
  for (Demand& demand : demands) demand.weight /= unit;
}

// A role that still grows.
struct Growing {
  size_t index = 0;
  const Demand* demand = nullptr;
  Fraction pace = {};                   // tasks per level
  std::optional<Fraction> met_at = {};  // the level at which it has its count
};

}  // namespace

bool can_run(const ResourceVector& pool, const Demand& demand) {
  if (demand.task.is_zero() || demand.count == 0) return false;
  return std::all_of(kResourceKinds.begin(), kResourceKinds.end(),
                     [&](ResourceKind kind) { return demand.task[kind] == 0 || pool[kind] > 0; });
}

Fraction share_of_task(const ResourceVector& pool, const Demand& demand) {
  Fraction largest;
  for (const ResourceKind kind : kResourceKinds) {
    if (pool[kind] == 0) continue;
    largest = std::max(largest, Fraction::of(demand.task[kind], pool[kind]));
  }
  return largest;
}

std::optional<std::vector<Fraction>> fill(const ResourceVector& pool_given,
                                          const std::vector<Demand>& demands_given) {
  check(pool_given, demands_given);
  ResourceVector pool = pool_given;
  std::vector<Demand> demands = demands_given;
  choose_units(pool, demands);

  std::vector<Growing> growing;
  for (size_t i = 0; i < demands.size(); ++i) {
    const Demand& demand = demands[i];
    if (!can_run(pool, demand)) continue;
    const Fraction pace = Fraction(demand.weight) / share_of_task(pool, demand);
    growing.push_back({i, &demand, pace, {}});
    if (demand.count) growing.back().met_at = Fraction(*demand.count) / pace;
  }

  std::vector<Fraction> tasks(demands.size());
  std::array<Fraction, kResourceKindCount> settled;  // used by roles that have stopped
  while (!growing.empty()) {
    std::array<std::optional<Fraction>, kResourceKindCount> exhausted_at;
    std::optional<Fraction> next;
    for (const ResourceKind kind : kResourceKinds) {
      const auto k = static_cast<size_t>(kind);
      Fraction pace;  // growth of the use of this kind
      for (const Growing& one : growing) pace += one.pace * one.demand->task[kind];
      if (!pace.is_exact()) return std::nullopt;
      if (pace.is_zero()) continue;
      exhausted_at[k] = (Fraction(pool[kind]) - settled[k]) / pace;
      if (!exhausted_at[k]->is_exact()) return std::nullopt;
      next = next ? std::min(*next, *exhausted_at[k]) : *exhausted_at[k];
    }
    for (const Growing& one : growing) {
      if (one.met_at && *one.met_at < *next) next = *one.met_at;
    }

    std::vector<Growing> rest;
    for (const Growing& one : growing) {
      const bool stops =
          one.met_at == next ||
          std::any_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
            return one.demand->task[kind] > 0 && exhausted_at[static_cast<size_t>(kind)] == next;
          });
      if (!stops) {
        rest.push_back(one);
        continue;
      }
      tasks[one.index] = *next * one.pace;
      if (!tasks[one.index].is_exact()) return std::nullopt;
      for (const ResourceKind kind : kResourceKinds) {
        settled[static_cast<size_t>(kind)] += tasks[one.index] * one.demand->task[kind];
      }
    }
    CHECK_LT(rest.size(), growing.size());
    growing = std::move(rest);
  }
  return tasks;
}

WholeTasks fill_whole(const ResourceVector& pool, const std::vector<Demand>& demands,
                      const std::vector<int64_t>& first) {
  check(pool, demands);
  ResourceVector free = pool;
  std::vector<int64_t> tasks(demands.size(), 0);
  std::vector<Fraction> steps(demands.size());  // increase of the weighted share per task
  std::vector<Fraction> levels(demands.size());
  std::vector<int64_t> served(demands.size(), 0);  // the last turn of each
  int64_t turns = 0;
  std::vector<size_t> growing;
  for (size_t i = 0; i < demands.size(); ++i) {
    if (!can_run(pool, demands[i])) continue;
    steps[i] = share_of_task(pool, demands[i]) / demands[i].weight;
    growing.push_back(i);
  }
  const auto is_later = [&](size_t i) { return i < first.size() && tasks[i] >= first[i]; };
  std::optional<std::vector<int64_t>> at_first_misfit;
  while (!growing.empty()) {
    const auto least = std::min_element(growing.begin(), growing.end(), [&](size_t a, size_t b) {
      if (is_later(a) != is_later(b)) return is_later(b);
      return levels[a] != levels[b] ? levels[a] < levels[b] : served[a] < served[b];
    });
    const size_t i = *least;
    const Demand& demand = demands[i];
    if (!demand.task.fits_in(free)) {
      if (!at_first_misfit) at_first_misfit = tasks;
      growing.erase(least);
      continue;
    }
    free -= demand.task;
    ++tasks[i];
    served[i] = ++turns;
    levels[i] += steps[i];
    if (demand.count == tasks[i]) growing.erase(least);
  }
  return {.tasks = tasks, .at_first_misfit = at_first_misfit.value_or(tasks)};
}

}  // namespace proffer::ideal
