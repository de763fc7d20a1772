#pragma once

// Which agent is best for an ask, and what is taken of it. First come what the ask says: preferred
// hosts and racks, and how evenly its tasks are to be spread over an attribute. Then agents with
// something that is reserved for its role, and for an ask without GPUs those without GPUs. Then the
// policy decides (AllocatorOptions::placement); of equals the least id is best.
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
//   fgd          least growth of what is of no use for the tasks that are asked for lately
//                (fragmentation.h); of equals, best_fit
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
// The best one for a task of the ask of those that are set aside for nobody, or nullptr.
Agent* place_anywhere(const Cluster& cluster, const AskEntry& ask, Time now);
// The slices of so many tasks. `last`, unless it is nullptr: those of the last task alone.
std::vector<Slice> carve_tasks(const AskEntry& ask, const Agent& agent, int64_t count,
                               std::vector<Slice>* last);

// Whether the leaf, which takes open offers, may have one of the agent: it has not declined it, and
// does not have one, which is for the caller to say.
bool is_open_to(const Leaf& leaf, const Agent& agent, Time now, bool has_one);
// What of the agent's rest is at most so much; nothing if that is less than the least that is
// offered.
std::vector<Slice> piece_for(const Cluster& cluster, const Leaf& leaf, const Agent& agent,
                             const ResourceVector& most);
// Whether an open offer of so much of the agent is of use.
bool is_worth_offering(const Cluster& cluster, const Agent& agent, const ResourceVector& amounts);

}  // namespace proffer::fair
