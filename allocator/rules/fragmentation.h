#pragma once

// How much of what is free on an agent is of no use for the tasks that are asked for lately, and by
// how much a task that is placed there makes it more: fragmentation gradient descent (Weng et al.,
// USENIX ATC 2023, section 4).
//
// The fragments of an agent are the sum over the typical shapes m of
//
//   count(m) * (m does not fit there: f of all that is free there
//               else: f of the gpus on devices that have less left than m takes of one device)
//
// with f(x) the fraction of the cluster's total of its kind, in 2^-30, summed over the kinds. The
// paper counts GPUs only; here all kinds do, so that CPUs and memory are worth keeping together
// too.

#include "allocator/cluster/cluster.h"
#include "allocator/rules/fractions.h"

namespace proffer::fair {

// O(typical shapes * gpus).
int64_t fragments(const Workload& workload, const Fractions& fractions, const Resources& free);

// By how much a task of the ask, which must fit on the agent, makes its fragments more; mostly
// negative, since what it takes is none. Remembered on the agent until something else is free there
// or other shapes are typical; then O(1), but for asks of a shape that is not typical.
int64_t fragments_growth(const Cluster& cluster, const AskEntry& ask, const Agent& agent);

}  // namespace proffer::fair
