#pragma once

// Files of real processes of an earlier version, for the fixtures: recorded_test.cc makes them,
// checkpoint_test.cc and registry_test.cc read the recorded ones.

#include "tests/upgrade/versions.h"

namespace proffer::upgrade_test {

// The command of the task that runs when the agent is killed, and of the one that ends with exit
// code 7 while the master is away. Both are the same wherever they are recorded.
inline constexpr const char* kSleeper = "echo begun; exec sleep 1000";
inline constexpr const char* kShell =
    "echo begun; trap \"exit 7\" TERM; echo $$ > $PROFFER_SANDBOX/pid; while sleep 0.1; do :; done";

}  // namespace proffer::upgrade_test
