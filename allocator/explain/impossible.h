#pragma once

// Finds the part of an ask that no agent could ever meet, and an agent's maximum of a kind for one
// task.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/cluster/cluster.h"
#include "common/explanation.h"

namespace proffer::fair {

// The first kind in which `shape` exceeds `there`; empty if there is none.
std::optional<ResourceKind> lacking(const ResourceVector& shape, const Resources& there);
// The largest amount of the kind that one task can get there. For GPUs it depends on the amount
// `wanted`: a part comes from one device, and whole devices are added up.
int64_t most_for(ResourceKind kind, int64_t wanted, const Resources& there);
// Inserts the value in order; keeps one value more than explanations show.
void add_value(std::vector<std::string>& values, const std::string& value);

// The hindrance of an ask that would not fit even if all agents were empty: a limit; else
// constraints that no agent meets; else an amount above the maximum of the agents that meet them;
// else the gang. Empty if each condition alone is met, but no agent meets all. O(agents *
// constraints).
std::vector<HinderedAgents> impossible(const Cluster& cluster, const AskEntry& entry);

}  // namespace proffer::fair
