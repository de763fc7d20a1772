#pragma once

// What `proffer replay --with` found out, as values; json/policy_trial_json.h prints them.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/time.h"

namespace proffer::proto {

struct PolicyTrial {
  // Of the tasks of a role and of the roles below it. A task waits from when it is wanted until it
  // is launched, and again if it is lost or taken back; one that is not launched waits until the
  // end.
  struct Figures {
    int64_t waits = 0;
    Duration wait_mean = {};
    Duration wait_p50 = {};
    Duration wait_p90 = {};
    Duration wait_sum = {};
    int64_t waiting = 0;     // of these, that were not over at the end
    int64_t mean_share = 0;  // dominant share of what runs, over the recorded time; thousandths
    int64_t revokes = 0;     // tasks that were told to end
    Duration makespan = {};  // from the first that was wanted to the last end
    bool operator==(const Figures&) const = default;
  };
  struct Role {
    Figures recorded = {};
    // The work of the recording, simulated without a change for the recorded time: the better it
    // resembles `recorded`, the more the others may be believed.
    Figures again = {};
    // The same until all of it has ended, if nothing waited or ran when the recording ended, else
    // for the recorded time; and with the change.
    Figures as_it_was = {};
    Figures changed = {};
    bool operator==(const Role&) const = default;
  };

  std::vector<std::string> with = {};  // the changes, as they were given
  Duration span = {};                  // that was recorded
  int64_t tasks = 0;
  Role all = {};
  std::map<std::string, Role> roles = {};
  std::vector<std::string> notes = {};  // what is not simulated, or not as it was, for people
  bool operator==(const PolicyTrial&) const = default;
};

}  // namespace proffer::proto
