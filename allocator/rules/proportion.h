#pragma once

// Which machines are in proportion to an ask: on which family of agents least is left over.
//
// If an agent is filled with tasks of one ask, one kind is used up, and of each other kind the
// fraction
//
//   shape / total  /  max over the kinds of (shape / total)
//
// is used. The cost of the ask in a family is the product over the kinds of one over this fraction,
// at most 2^10 for each kind. It is 1 if nothing is left over, and the same for agents of all sizes
// with the same proportions.

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

// For the families of Families::all(), remembered until there is another one; else O(families *
// log).
const FamilyOrder& family_order(const Cluster& cluster, const AskEntry& ask);
// Whether the agent is at least twice as good for the other ask, each compared with the best family
// in which it could run: cost over least cost.
bool is_better_for(const Cluster& cluster, const AskEntry& other, const AskEntry& ask,
                   const Agent& agent);

}  // namespace proffer::fair
