#pragma once

// Pools: sets of agents, and not all, that some ask suits. Maintained by rules/pools.h.

#include <cstdint>
#include <map>
#include <vector>

#include "common/resources.h"

namespace proffer::fair {

struct Pools {
  uint64_t version = 0;                                // of the agents
  std::vector<ResourceVector> totals = {};             // of the agents of each pool
  std::map<std::vector<bool>, size_t> by_agents = {};  // by the agents' slots
};

}  // namespace proffer::fair
