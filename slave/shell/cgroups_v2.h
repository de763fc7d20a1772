#pragma once

// Limits by version 2 of cgroups: one hierarchy for all controllers.

#include <memory>
#include <vector>

#include "slave/shell/cgroups.h"

namespace proffer::agent {

// As make_cgroups_v1. `is_bare`: also where no controller can be used, so that groups can only be
// killed and counted; for tests.
Result<std::unique_ptr<Cgroups>> make_cgroups_v2(const std::vector<CgroupMount>& mounts,
                                                 const GroupOptions& options, bool is_bare = false);

}  // namespace proffer::agent
