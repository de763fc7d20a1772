#pragma once

// A case of fairness as a readable value: a pool, the roles' demands, and the number of tasks of
// each.

#include <iterator>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "common/prng.h"
#include "common/resources.h"
#include "common/text.h"
#include "tests/oracle/filling.h"

namespace proffer::ideal {

// For googletest's messages.
inline std::ostream& operator<<(std::ostream& out, const Fraction& fraction) {
  return out << (fraction.is_exact() ? fraction.text() : "inexact");
}

}  // namespace proffer::ideal

namespace proffer::fair_case {

using ideal::Demand;
using ideal::Fraction;

struct Case {
  ResourceVector pool = {};
  std::vector<Demand> demands = {};
};
using Tasks = std::vector<Fraction>;  // the number of tasks of each role

// Roles are called a, b, c …
inline std::string name(size_t i) { return std::string(1, static_cast<char>('a' + i)); }

inline std::string to_text(const Demand& demand) {
  if (demand.task.is_zero()) return "wants nothing";
  const std::string count = !demand.count        ? "any number of tasks"
                            : *demand.count == 1 ? "1 task"
                                                 : text(*demand.count, " tasks");
  return text("wants ", count, " of ", proffer::to_text(demand.task), ", weight ",
              print_milli(demand.weight));
}
inline std::string to_text(const Case& c) {
  std::string out = text("pool ", proffer::to_text(c.pool), "\n");
  for (size_t i = 0; i < c.demands.size(); ++i) {
    out += text("  ", name(i), " ", to_text(c.demands[i]), "\n");
  }
  return out;
}
inline std::string to_text(const Case& c, const Tasks& tasks) {
  std::string out = text("pool ", proffer::to_text(c.pool), "\n");
  for (size_t i = 0; i < c.demands.size(); ++i) {
    out += text("  ", name(i), " ", to_text(c.demands[i]), ": runs ", tasks[i].text(),
                ", dominant share ", (tasks[i] * ideal::share_of_task(c.pool, c.demands[i])).text(),
                "\n");
  }
  return out;
}

// `cpus` and `mem` are whole CPUs and MiB.
inline Demand wants(int64_t cpus, int64_t mem, std::optional<int64_t> count = {},
                    int64_t weight = kWeightOne) {
  return {.task = ResourceVector::of(cpus * 1000, mem * 1000), .count = count, .weight = weight};
}

// The share that is compared: the largest fraction of any kind, divided by the weight.
inline Fraction level(const Case& c, size_t i, const Fraction& tasks) {
  return tasks * ideal::share_of_task(c.pool, c.demands[i]) * kWeightOne / c.demands[i].weight;
}
inline bool wants_more(const Case& c, size_t i, const Fraction& tasks) {
  const Demand& demand = c.demands[i];
  return ideal::can_run(c.pool, demand) && (!demand.count || tasks < *demand.count);
}
// The use of a kind by all roles.
inline Fraction used(const Case& c, const Tasks& tasks, ResourceKind kind) {
  Fraction sum;
  for (size_t i = 0; i < c.demands.size(); ++i) sum += tasks[i] * c.demands[i].task[kind];
  return sum;
}

struct Ranges {
  size_t roles_max = 5;
  size_t kinds = 3;      // cpus, mem, disk
  int64_t task_max = 8;  // in units of each kind
  int64_t pool_min = 1;  // in units
  int64_t pool_max = 40;
  int64_t count_max = 12;  // if the count is finite
  bool zeros = true;       // some tasks need nothing of some kinds
  bool weights = true;
};

inline Case random_case(Prng& random, const Ranges& ranges) {
  Case c;
  const size_t kinds = 1 + random.below(ranges.kinds);
  const size_t roles = 1 + random.below(ranges.roles_max);
  for (size_t k = 0; k < kinds; ++k) {
    c.pool[kResourceKinds[k]] = random.between(ranges.pool_min, ranges.pool_max) * 500;
  }
  constexpr int64_t kWeights[] = {500, 1000, 1000, 1500, 2000, 3000};
  for (size_t i = 0; i < roles; ++i) {
    Demand demand;
    // Some tasks need little of every kind, so that sizes vary.
    const int64_t most = random.between(1, ranges.task_max);
    for (size_t k = 0; k < kinds; ++k) {
      const bool zero = ranges.zeros && kinds > 1 && random.chance(1, 4);
      demand.task[kResourceKinds[k]] = zero ? 0 : random.between(1, most) * 500;
    }
    if (random.chance(1, 3)) demand.count = random.between(1, ranges.count_max);
    if (ranges.weights) demand.weight = kWeights[random.below(std::size(kWeights))];
    c.demands.push_back(demand);
  }
  return c;
}

}  // namespace proffer::fair_case
