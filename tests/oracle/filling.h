#pragma once

// The oracle: what dominant resource fairness gives when tasks are divisible and all resources are
// one pool (Ghodsi et al., NSDI 2011, sections 4 and 5). The laws of the paper hold for it exactly,
// so tests prove them here and then hold the production allocator, with whole tasks on real agents,
// against it. Plain and slow on purpose, and sharing no code with what it judges.

#include <cstdint>
#include <optional>
#include <vector>

#include "common/resources.h"
#include "tests/oracle/fraction.h"

namespace proffer::ideal {

// What one role could use: `count` tasks, each takes `task`.
struct Demand {
  ResourceVector task = {};           // milli-units; zero in all kinds: wants nothing
  std::optional<int64_t> count = {};  // nothing: endless
  int64_t weight = kWeightOne;        // milli-weights

  bool operator==(const Demand&) const = default;
};

// Whether it can run anything at all: it wants a task, and the pool has something of each kind that
// the task takes.
bool can_run(const ResourceVector& pool, const Demand& demand);

// How much of the pool one task is, in the kind of which it takes the largest part: its dominant
// share. Kinds that the pool does not have do not count.
Fraction share_of_task(const ResourceVector& pool, const Demand& demand);

// Progressive filling. The weighted dominant shares of all grow at one pace; who has its `count`
// stops, and so does everyone who takes of a kind that is exhausted, while those who do not take of
// it go on (Parkes et al., EC 2012, for tasks that need nothing of some kinds). Returns how many
// tasks each runs, in the order of the demands. CHECKs amounts in [0, kAmountMax], counts in [0,
// kAskCountMax], weights in [kWeightMin, kWeightMax].
//
// Exact, or nothing: the fractions are of 128 bits (fraction.h), and a case that needs more has no
// answer rather than a rounded one. Each kind is counted in the largest unit common to its amounts,
// and so are the weights. Enough for sure: 8 demands of 2 kinds, tasks of up to 16 such units, a
// pool and counts of up to 1,024, weights of up to 16 units. In practice far more: of random
// demands of 4 kinds to the MiB and to 0.1 CPUs, 8 always had an answer, 10 but for one time in
// 200.
std::optional<std::vector<Fraction>> fill(const ResourceVector& pool,
                                          const std::vector<Demand>& demands);

// The same with whole tasks: Algorithm 1 of the paper (section 4.2), one task at a time to the
// least weighted dominant share, of equals to the one that was served longest ago. Who does not fit
// leaves; the others go on. Nobody is given more than `first` says until all have that many.
struct WholeTasks {
  std::vector<int64_t> tasks = {};
  // What each had when for the first time a task did not fit; as `tasks` if that never happened. Up
  // to there the filling is fair to a task; what comes later are leftovers.
  std::vector<int64_t> at_first_misfit = {};
};
// Takes a step for each task. CHECKs as fill().
WholeTasks fill_whole(const ResourceVector& pool, const std::vector<Demand>& demands,
                      const std::vector<int64_t>& first = {});

}  // namespace proffer::ideal
