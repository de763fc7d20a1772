#pragma once

// A device program of the kernel for a group of cgroups version 2 (BPF_PROG_TYPE_CGROUP_DEVICE): it
// decides which devices the processes of the group may open and make.

#include <cstdint>
#include <string>
#include <vector>

#include "common/result.h"

namespace proffer::agent {

// Denies character devices `major`:<one of `minors`> to the group at `folder`, and permits all
// others. Replaces the group's program; groups below it can have none of their own. Errors:
// kUnsupported, kUnavailable.
Result<void> deny_devices(const std::string& folder, int64_t major,
                          const std::vector<int64_t>& minors);

}  // namespace proffer::agent
