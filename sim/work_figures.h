#pragma once

// How long tasks waited, and what roles had: the figures of recorded work.

#include <map>
#include <string>

#include "proto/policy_trial.h"
#include "sim/recorded_work.h"

namespace proffer::sim {

struct WorkWindow {
  Time zero = {};         // when the work begins
  Time share_until = {};  // mean shares are over the time from zero until then
  Time until = {};        // what happens later does not count
};

// By role, of all that have tasks and those above them; under "" of all tasks. O(attempts * depth
// of roles).
std::map<RoleName, proto::PolicyTrial::Figures> figures_of(const Work& work,
                                                           const WorkWindow& window);

}  // namespace proffer::sim
