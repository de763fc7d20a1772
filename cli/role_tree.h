#pragma once

// Roles as tables for people.

#include <vector>

#include "cli/output.h"
#include "proto/status.h"

namespace proffer::cli {

// One row for each role, in order of their names.
Table role_list(const std::vector<proto::RoleRow>& rows);
// Children indented below their parents. A parent without settings has a row too.
Table role_tree(const std::vector<proto::RoleRow>& rows);

}  // namespace proffer::cli
