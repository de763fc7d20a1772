#pragma once

// What each role has and is promised, as metrics.

#include <string>
#include <vector>

#include "net/metrics_text.h"
#include "proto/status.h"

namespace proffer::master {

inline constexpr size_t kRoleSeriesMax = 100;  // named in /metrics; the rest in one sum

// At most kRoleSeriesMax roles by name, those with a guarantee or a limit first; all others in one
// sum, role="other".
void write_roles(const std::vector<proto::RoleRow>& rows, MetricsText& text);

}  // namespace proffer::master
