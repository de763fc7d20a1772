#pragma once

// Which agent is best for an ask, and what is taken of it: what is reserved for its role first,
// then best fit, so that large pieces stay whole. Asks without gpus avoid the agents that have them
// while others are free. Where the ask would rather be, and how evenly it is to be spread, come
// before the score.

#include <vector>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

// The better one for the ask of two that it fits, or the one that is not nullptr.
Agent* better(const AskEntry& ask, Agent* a, Agent* b);
// The best one for a task of the ask of those that are set aside for nobody, or nullptr.
Agent* place_anywhere(const Cluster& cluster, const AskEntry& ask, Time now);
// The slices of so many tasks, of which `last` are those of the last one.
std::vector<Slice> carve_tasks(const AskEntry& ask, const Agent& agent, int64_t count,
                               std::vector<Slice>* last);

// Whether the leaf, which takes open offers, may have one of the agent: it has not declined it, and
// does not have one, which is for the caller to say.
bool is_open_to(const Leaf& leaf, const Agent& agent, Time now, bool has_one);
// What of the agent's rest is at most so much; nothing if that is of no use to anybody.
std::vector<Slice> piece_for(const Leaf& leaf, const Agent& agent, const ResourceVector& most);

}  // namespace proffer::fair
