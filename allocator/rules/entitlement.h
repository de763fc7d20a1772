#pragma once

// What each role and leaf may count on: its guarantee as far as it wants it, and its fair share of
// the rest.

#include <cstdint>
#include <vector>

#include "common/resources.h"

namespace proffer::fair {

class View;

// One of several that something is split among.
struct Claimant {
  int64_t weight = kWeightOne;  // milli, kWeightMin..kWeightMax
  ResourceVector demand = {};   // in which proportion it wants the kinds, and the most of each
  ResourceVector floor = {};    // comes first; at most the demand
};

// Water-filling of `whole` by weighted dominant shares of `total`: at one level for all, each has
// the part of its demand whose dominant share is the level times its weight, but at least its floor
// and at most its demand; the level rises until a kind is used up, and then goes on for those who
// want nothing of that kind. (The ideal of the DRF paper, section 4.2, for demands that are
// divisible.) Floors that are together more than `whole` are cut in proportion, kind by kind. In
// the order of the claimants; rounded down, so they have together at most `whole`.
// O(claimants * log(levels) * kinds).
std::vector<ResourceVector> split(const ResourceVector& whole, const ResourceVector& total,
                                  const std::vector<Claimant>& claimants);

// Sets demand and entitlement of all nodes of the tree: from the top, each role's entitlement is
// split among its children; the root's is what there is and is not about to go away. Nobody is
// entitled to more than limits allow it, nor to anything for an ask that would fit no agent even if
// all were empty. A guarantee that names only some kinds is a
// floor for the others too, as far as the demand needs them beside those that it names. A leaf
// without asks that takes open offers wants everything. O(nodes * log(levels) + asks).
void compute_entitlements(const View& view);

}  // namespace proffer::fair
