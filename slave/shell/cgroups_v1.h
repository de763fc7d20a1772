#pragma once

// Limits by version 1 of cgroups: a hierarchy for each controller, or for some together.

#include <memory>
#include <vector>

#include "slave/shell/cgroups.h"

namespace proffer::agent {

// Makes the directories of this agent and takes the lock on them. Errors: kUnsupported (no
// controller is mounted, or none may be used, with the reason), kFailedPrecondition (another agent
// has them, or this process is in a group below them).
Result<std::unique_ptr<Cgroups>> make_cgroups_v1(const std::vector<CgroupMount>& mounts,
                                                 const GroupOptions& options);

}  // namespace proffer::agent
