#pragma once

// The resources of a task as variables of its environment.

#include <map>
#include <string>

#include "common/resources.h"

namespace proffer::proto {

// PROFFER_CPUS ("2", "0.5"), PROFFER_MEM_MIB and PROFFER_DISK_MIB (rounded down), PROFFER_GPU_COUNT
// ("0.5", if it has any), and OMP_NUM_THREADS: its whole CPUs, at least 1. The task's own
// OMP_NUM_THREADS counts, so set that afterwards.
std::map<std::string, std::string> resource_variables(const ResourceVector& amounts);

}  // namespace proffer::proto
