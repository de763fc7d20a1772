#pragma once

// The free amounts on an agent that recently requested tasks cannot use, and the growth of these
// fragments by a new task: fragmentation gradient descent (Weng et al., USENIX ATC 2023, section
// 4).
//
// The fragments of an agent are the sum over the typical shapes m of
//
//   count(m) * (m does not fit there: f of all free amounts there
//               else: f of the GPUs on devices with less left than m takes of one device)
//
// where f(x) is the fraction of the cluster's total of its kind, in units of 2^-30, summed over the
// kinds. The paper counts GPUs only; here all kinds count, so that CPUs and memory stay together
// too.

#include "allocator/cluster/cluster.h"
#include "allocator/rules/fractions.h"

namespace proffer::fair {

// O(typical shapes * gpus).
int64_t fragments(const Workload& workload, const Fractions& fractions, const Resources& free);

// The growth of the agent's fragments by a task of the ask, which must fit there; mostly negative,
// since used amounts are no fragments. Cached on the agent while its free amounts and the typical
// shapes stay the same; then O(1), except for shapes that are not typical.
int64_t fragments_growth(const Cluster& cluster, const AskEntry& ask, const Agent& agent);

}  // namespace proffer::fair
