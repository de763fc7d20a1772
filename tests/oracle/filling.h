#pragma once

// The oracle: the result of dominant resource fairness if tasks are divisible and all resources are
// one pool (Ghodsi et al., NSDI 2011, sections 4 and 5). The laws of the paper hold for it exactly.
// Tests prove them here, and then compare the production allocator, with whole tasks on real
// agents, with it. It is plain and slow on purpose, and shares no code with production.

#include <cstdint>
#include <optional>
#include <vector>

#include "common/resources.h"
#include "tests/oracle/fraction.h"

namespace proffer::ideal {

// The demand of one role: `count` tasks that need `task` each.
struct Demand {
  ResourceVector task = {};           // milli-units; zero in all kinds: no demand
  std::optional<int64_t> count = {};  // empty: endless
  int64_t weight = kWeightOne;        // milli-weights

  bool operator==(const Demand&) const = default;
};

// Whether it can run at all: it wants a task, and the pool has some of each kind that the task
// needs.
bool can_run(const ResourceVector& pool, const Demand& demand);

// The dominant share of one task: the largest fraction of the pool in any kind. Kinds that the pool
// does not have do not count.
Fraction share_of_task(const ResourceVector& pool, const Demand& demand);

// Progressive filling. The weighted dominant shares of all roles grow at the same speed. A role
// stops when it has its `count`, and also when a kind that it needs is exhausted; roles that do not
// need that kind continue (Parkes et al., EC 2012, for tasks that need nothing of some kinds).
// Returns the number of tasks of each role, in the order of the demands. CHECKs amounts in [0,
// kAmountMax], counts in [0, kAskCountMax], weights in [kWeightMin, kWeightMax].
//
// The result is exact or empty: fractions have 128 bits (fraction.h), and a case that needs more
// has no answer. Each kind is counted in the largest unit common to its amounts, and so are the
// weights. This is always enough for 8 demands of 2 kinds, tasks of up to 16 such units, a pool and
// counts of up to 1,024, and weights of up to 16 units. In practice it is enough for much more: of
// random demands of 4 kinds, to the MiB and to 0.1 CPUs, 8 always had an answer, and 10 failed one
// time in 200.
std::optional<std::vector<Fraction>> fill(const ResourceVector& pool,
                                          const std::vector<Demand>& demands);

// The same with whole tasks: Algorithm 1 of the paper (section 4.2). It gives one task at a time to
// the role with the least weighted dominant share; among equals, to the one that was served longest
// ago. A role whose task does not fit leaves, and the others continue. No role gets more than
// `first` until all roles have that many.
struct WholeTasks {
  std::vector<int64_t> tasks = {};
  // The number of tasks when a task did not fit for the first time; equal to `tasks` if that never
  // happened. Until then the filling is fair to within a task; later tasks are leftovers.
  std::vector<int64_t> at_first_misfit = {};
};
// Takes one step per task. CHECKs the same as fill().
WholeTasks fill_whole(const ResourceVector& pool, const std::vector<Demand>& demands,
                      const std::vector<int64_t>& first = {});

}  // namespace proffer::ideal
