#pragma once

// The entitlement of each role and leaf: its guarantee, up to its demand, and its fair share of the
// rest.

#include <cstdint>
#include <vector>

#include "common/resources.h"

namespace proffer::fair {

class View;

// One of the claimants of split().
struct Claimant {
  int64_t weight = kWeightOne;  // milli, kWeightMin..kWeightMax
  ResourceVector demand =
      {};                     // the proportion in which it wants the kinds, and the maximum of each
  ResourceVector floor = {};  // allotted first; at most the demand
};

// Water-filling of `whole` by weighted dominant shares of `total`. At a level, each claimant has
// the part of its demand whose dominant share is the level times its weight, but at least its floor
// and at most its demand. The level rises until a kind is used up, and then goes on for the
// claimants that want nothing of that kind. (The ideal of the DRF paper, section 4.2, for divisible
// demands.) Floors that together exceed `whole` are cut in proportion, kind by kind. Results are in
// the order of the claimants and rounded down, so their sum is at most `whole`. O(claimants *
// log(levels) * kinds).
std::vector<ResourceVector> split(const ResourceVector& whole, const ResourceVector& total,
                                  const std::vector<Claimant>& claimants);

// Sets demand and entitlement of all nodes, from the top: the root is entitled to usable_total(),
// and each role's entitlement is split among its children. No node is entitled to more than its
// limits allow, nor to anything for an ask that would fit no agent even if all were empty. Asks
// that suit the same agents are entitled to at most these agents (pools.h). A guarantee that names
// only some kinds is a floor for the others too, as far as the demand needs them beside the named
// kinds. A leaf without asks that takes open offers has unlimited demand. O(nodes * log(levels) +
// asks), and the same once more for each pool with too much demand.
void compute_entitlements(const View& view);

}  // namespace proffer::fair
