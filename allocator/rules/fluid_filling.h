#pragma once

// Entitlements of asks, in tasks: what each ask would run if tasks were divisible and the cluster
// were one pool. Progressive filling down the tree of roles (the DRF paper, section 4.2: Ghodsi et
// al., NSDI 2011; the tree: Bhattacharya et al., SoCC 2013), from empty:
//
//   * Siblings rise together by weighted dominant share. Asks of one leaf and one priority rise
//     together by tasks; a lower priority begins when the higher ones rise no more.
//   * When a kind is exhausted, the asks that take of it stop and the others go on. The same holds
//     below the limit of a role, for the asks of that role.
//   * A role whose use is within its guarantee comes before all others. Of kinds that the guarantee
//     does not name it comes first with the same part of the cluster as of those that it does; what
//     is more counts in the role's share as always.
//
// From empty, children that have stopped have no more than those that rise. So H-DRF's rescaling
// has nothing to do here, and the share of a role is that of its plain use.
//
// A value in, a value out: the allocator builds the table from its tree, tests build it by hand.

#include <cstdint>
#include <vector>

#include "allocator/cluster/leaves.h"
#include "common/resources.h"
#include "common/roles.h"

namespace proffer::fair {

// More tasks of one ask count as so many.
inline constexpr int64_t kFluidTasksMax = int64_t{1} << 40;

struct FluidAsk {
  ResourceVector shape = {};  // of one task
  int64_t tasks_max = 0;      // that it wants in all: those that run, are offered, and are unmet
  int32_t priority = 0;       // higher first
};

// A role, or a leaf: then it has asks and no children.
struct FluidNode {
  int32_t parent = -1;          // its place in the table, before this one; the root has none
  int64_t weight = kWeightOne;  // milli, kWeightMin to kWeightMax
  Quota guarantee = {};
  Quota limit = {};
  std::vector<FluidAsk> asks = {};
};

struct FluidShares {
  std::vector<ResourceVector> nodes = {};        // entitlement of each node
  std::vector<std::vector<int64_t>> tasks = {};  // of each node's asks, in parts of kTaskOne
};

// The first node is the root, whose limit is `total`. An ask that takes of a kind of which the
// total is zero gets nothing. All is rounded down, so siblings together have at most what their
// parent has. Guarantees that are more than the total are cut in one proportion.
// O((asks + nodes) * log^depth of the precision * kinds).
FluidShares fill_fluid(const ResourceVector& total, const std::vector<FluidNode>& nodes);

}  // namespace proffer::fair
