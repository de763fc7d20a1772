#pragma once

// Limits with cgroups v2: one hierarchy for all controllers.

#include <memory>
#include <vector>

#include "slave/shell/cgroups.h"

namespace proffer::agent {

// As make_cgroups_v1. `is_bare`: succeed without any usable controller; then groups only count and
// kill processes; for tests.
Result<std::unique_ptr<Cgroups>> make_cgroups_v2(const std::vector<CgroupMount>& mounts,
                                                 const GroupOptions& options, bool is_bare = false);

}  // namespace proffer::agent
