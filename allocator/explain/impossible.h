#pragma once

// What of an ask no agent could ever give, and how much of a kind an agent has for a task.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/cluster/cluster.h"
#include "common/explanation.h"

namespace proffer::fair {

// The first kind in which `shape` needs more than `there` has; or nothing.
std::optional<ResourceKind> lacking(const ResourceVector& shape, const Resources& there);
// What of the kind is for a task that takes `wanted`: of gpus, on one device or whole ones.
int64_t most_for(ResourceKind kind, int64_t wanted, const Resources& there);
// Adds the value, in order: some of them, one more than people are told.
void add_value(std::vector<std::string>& values, const std::string& value);

// What of the ask would have to be otherwise for it to fit the agents if these were empty, of one
// that does not: a limit; else constraints that none meets; else what is more than the most that
// any of those that meet them has; else the gang. Nothing if each is met, but never all by one
// agent. O(agents * constraints).
std::vector<HinderedAgents> impossible(const Cluster& cluster, const AskEntry& entry);

}  // namespace proffer::fair
