#pragma once

// Entitlements of asks, in tasks: the number of tasks that each ask would run if tasks were
// divisible and the cluster were one pool. Progressive filling down the tree of roles (the DRF
// paper, section 4.2: Ghodsi et al., NSDI 2011; the tree: Bhattacharya et al., SoCC 2013), from
// empty:
//
//   * Siblings rise together by weighted dominant share. Asks of one leaf and one priority rise
//     together by tasks; a lower priority begins when the higher ones have stopped.
//   * When a kind is exhausted, the asks that need it stop and the others go on. The same holds at
//     the limit of a role, for the asks of that role.
//   * A role whose use is within its guarantee comes before all others. The guarantee extends to
//     the kinds that it does not name, by the same fraction of the cluster as the named kinds; use
//     beyond it counts in the role's share as always.
//
// In a filling from empty, stopped children never have more than rising ones. So the rescaling of
// H-DRF has no effect here, and the share of a role is that of its plain use.
//
// The filling is a pure function: the allocator builds the table from its tree, tests build it by
// hand.

#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/cluster/leaves.h"
#include "common/resources.h"
#include "common/roles.h"

namespace proffer::fair {

// Cap on the tasks of one ask.
inline constexpr int64_t kFluidTasksMax = int64_t{1} << 40;

struct FluidAsk {
  ResourceVector shape = {};        // of one task
  int64_t tasks_max = 0;            // all wanted tasks: running, offered and unmet
  int32_t priority = 0;             // higher first
  std::optional<int64_t> cap = {};  // at most this, in units of kTaskOne
};

// A role, or a leaf, which has asks and no children.
struct FluidNode {
  int32_t parent = -1;  // the parent's index in the table, less than its own; the root has none
  int64_t weight = kWeightOne;  // milli, kWeightMin to kWeightMax
  Quota guarantee = {};
  Quota limit = {};
  std::vector<FluidAsk> asks = {};
};

struct FluidShares {
  std::vector<ResourceVector> nodes = {};        // entitlement of each node
  std::vector<std::vector<int64_t>> tasks = {};  // for each node's asks, in units of kTaskOne
};

// The first node is the root, whose limit is `total`. An ask that needs a kind with a total of zero
// gets nothing. Results are rounded down, so siblings together have at most the amounts of their
// parent. Guarantees that exceed the total are cut in one proportion. O((asks + nodes) * log^depth
// of the precision * kinds).
FluidShares fill_fluid(const ResourceVector& total, const std::vector<FluidNode>& nodes);

}  // namespace proffer::fair
