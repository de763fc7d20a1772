#pragma once

// What each role has and is promised, as metrics.

#include <string>
#include <vector>

#include "master/core/framework_figures.h"
#include "net/metrics_text.h"
#include "proto/status.h"

namespace proffer::master {

inline constexpr size_t kRoleSeriesMax = 100;  // named in /metrics; the rest in one sum

// At most kRoleSeriesMax roles by name, those with a guarantee or a limit first; all others in one
// sum, role="other", with what waits in roles that have no row.
void write_roles(const std::vector<proto::RoleRow>& rows, const std::vector<RoleWaitSums>& waits,
                 MetricsText& text);

}  // namespace proffer::master
