#pragma once

// The result of `proffer replay --with`, as values; json/policy_trial_json.h prints them.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/time.h"

namespace proffer::proto {

struct PolicyTrial {
  // Figures for the tasks of a role and of the roles below it. A task waits from when it is wanted
  // until it is launched, and again if it is lost or preempted. A task that is not launched waits
  // until the end.
  struct Figures {
    int64_t waits = 0;
    Duration wait_mean = {};
    Duration wait_p50 = {};
    Duration wait_p90 = {};
    Duration wait_sum = {};
    int64_t waiting = 0;     // of these waits, those that were not over at the end
    int64_t mean_share = 0;  // dominant share of running tasks, over the recorded time; thousandths
    int64_t revokes = 0;     // tasks that had to end by a revoke notice
    Duration makespan = {};  // from the first wanted task to the last end
    bool operator==(const Figures&) const = default;
  };
  struct Role {
    Figures recorded = {};
    // The recorded work, simulated without a change for the recorded time. The more it resembles
    // `recorded`, the more reliable are the others.
    Figures again = {};
    // The same simulation, and the one with the change. They run until all work has ended if
    // nothing waited or ran at the end of the recording, else for the recorded time.
    Figures as_it_was = {};
    Figures changed = {};
    bool operator==(const Role&) const = default;
  };

  std::vector<std::string> with = {};  // the changes, as they were given
  Duration span = {};                  // length of the recording
  int64_t tasks = 0;
  Role all = {};
  std::map<std::string, Role> roles = {};
  std::vector<std::string> notes = {};  // what is not simulated, or differs; for people
  bool operator==(const PolicyTrial&) const = default;
};

}  // namespace proffer::proto
