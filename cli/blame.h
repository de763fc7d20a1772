#pragma once

// The output of `proffer blame`, as lines.

#include <string>
#include <vector>

#include "proto/blame.h"
#include "proto/history.h"

namespace proffer::cli {

// The answer, then the reasons in the order of WaitReason, and the waiting asks.
std::vector<std::string> blame_lines(const proto::Blame& blame);

// The answer for a task that the master has forgotten.
proto::Blame blame_of(const proto::EndedTask& ended, Time now);
// The answer for the tasks of a role and those below it since then, from periods of the history.
proto::Blame blame_of(const RoleName& role, const std::vector<proto::RoleWait>& spans, Time since,
                      Time now);

}  // namespace proffer::cli
