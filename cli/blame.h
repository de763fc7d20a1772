#pragma once

// What `proffer blame` says, as lines.

#include <string>
#include <vector>

#include "proto/blame.h"
#include "proto/history.h"

namespace proffer::cli {

// The answer, then the reasons in the order of WaitReason, and what waits now.
std::vector<std::string> blame_lines(const proto::Blame& blame);

// As the master would have said of a task that it has forgotten.
proto::Blame blame_of(const proto::EndedTask& ended, Time now);
// Of the tasks of a role and those below it since then, from spans of the history.
proto::Blame blame_of(const RoleName& role, const std::vector<proto::RoleWait>& spans, Time since,
                      Time now);

}  // namespace proffer::cli
