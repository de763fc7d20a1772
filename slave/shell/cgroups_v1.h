#pragma once

// Limits with cgroups v1: a hierarchy per controller or for several controllers.

#include <memory>
#include <vector>

#include "slave/shell/cgroups.h"

namespace proffer::agent {

// Makes the directories of this agent and locks them. Errors: kUnsupported (no controller is
// mounted or usable, with the reason), kFailedPrecondition (another agent has the lock, or this
// process is in a group below them).
Result<std::unique_ptr<Cgroups>> make_cgroups_v1(const std::vector<CgroupMount>& mounts,
                                                 const GroupOptions& options);

}  // namespace proffer::agent
