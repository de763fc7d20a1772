#pragma once

// Metrics of the resources that each role has and is guaranteed.

#include <string>
#include <vector>

#include "master/core/framework_figures.h"
#include "net/metrics_text.h"
#include "proto/status.h"

namespace proffer::master {

inline constexpr size_t kRoleSeriesMax = 100;  // named in /metrics; the others are summed up

// At most kRoleSeriesMax roles by name, those with a guarantee or a limit first. All others are
// summed up as role="other", with the waits of roles that have no row.
void write_roles(const std::vector<proto::RoleRow>& rows, const std::vector<RoleWaitSums>& waits,
                 MetricsText& text);

}  // namespace proffer::master
