#pragma once

// Chooses the best agent for an ask, and the slices of it. The wishes of the ask come first:
// preferred hosts and racks, and the spread of its tasks over an attribute. Then come agents with
// free resources that are reserved for its role, and, for an ask without GPUs, agents without GPUs.
// Then the policy decides (AllocatorOptions::placement). Of equal agents the one with the least id
// is best.
//
// The policies, with f(x) the fraction that x is of the cluster's total of its kind, summed or
// compared over the kinds:
//   balanced     the family of agents in best proportion to the ask (proportion.h); within it,
//                best_fit
//   best_fit     least sum of f(free): large pieces stay whole
//   worst_fit    greatest sum of f(free)
//   spread       least dominant used fraction of the agent itself, whatever the ask
//   dot_product  greatest sum of f(free) * f(ask), kind by kind (Tetris: Grandl et al., SIGCOMM
//                2014, section 3.2); of equals, best_fit
//   fgd          least growth of the free amounts that tasks of the shapes asked for lately cannot
//                use (fragmentation.h); of equals, best_fit
//
// The index of free agents finds the first four in O(log n + blocks that it passes over), unless
// the ask is spread over an attribute; dot_product and fgd look at all agents that the ask fits.
// With balanced and best_fit an agent stays the best while it is filled, so that several tasks may
// be placed at once; with the others each task is placed by itself. A gang fills one agent after
// the other, in the policy's order.

#include <vector>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

// Whether an agent that was the best for an ask still is when the ask has been given a task there.
bool fills_up(Placement placement);
// Whether the index of free agents has them in the policy's order.
bool is_in_order(Placement placement);
// The better one for the ask of two that it fits, or the one that is not nullptr.
Agent* better(const Cluster& cluster, const AskEntry& ask, Agent* a, Agent* b);
// The best first, by the policy alone. The ask must fit each of them.
void sort_by_policy(const Cluster& cluster, const AskEntry& ask, std::vector<Agent*>& agents);
// Another agent without a claim, where a task of the ask fits now, and that is not
// worse for it by its family (proportion.h); or nullptr.
Agent* as_good_elsewhere(const Cluster& cluster, const AskEntry& ask, const Agent& agent, Time now);
// Whether a task of the ask fits now on no other agent without a claim.
bool fits_only_on(const Cluster& cluster, const AskEntry& ask, const Agent& agent, Time now);
// The best agent without a claim for a task of the ask, or nullptr.
Agent* place_anywhere(const Cluster& cluster, const AskEntry& ask, Time now);
// The slices for `count` tasks of the ask. If `last` is not nullptr, it gets those of the last task
// alone.
std::vector<Slice> carve_tasks(const AskEntry& ask, const Agent& agent, int64_t count,
                               std::vector<Slice>* last);

// Whether a leaf that takes open offers may have one of the agent: no filter of the leaf is in
// force there, and the leaf has no open offer of the agent yet (`has_one`).
bool is_open_to(const Leaf& leaf, const Agent& agent, Time now, bool has_one);
// The free slices of the agent for the leaf, at most `most` in all; empty if they are too small for
// an offer.
std::vector<Slice> piece_for(const Cluster& cluster, const Leaf& leaf, const Agent& agent,
                             const ResourceVector& most);
// Whether `amounts` of the agent are enough for an open offer: at least min_offer of each kind that
// the agent has.
bool is_worth_offering(const Cluster& cluster, const Agent& agent, const ResourceVector& amounts);

}  // namespace proffer::fair
