#pragma once

// Figures of recorded work: waits of tasks, and shares of roles.

#include <map>
#include <string>

#include "proto/policy_trial.h"
#include "sim/recorded_work.h"

namespace proffer::sim {

struct WorkWindow {
  Time zero = {};         // when the work begins
  Time share_until = {};  // mean shares are over the time from zero until then
  Time until = {};        // later events do not count
};

// The figures by role, for all roles with tasks and those above them; "" is for all tasks.
// O(attempts * depth of roles).
std::map<RoleName, proto::PolicyTrial::Figures> figures_of(const Work& work,
                                                           const WorkWindow& window);

}  // namespace proffer::sim
