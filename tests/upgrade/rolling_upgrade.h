#pragma once

// A loaded cluster (tests/integration/loaded_cluster.h) whose members change their version, one
// after the other, while tasks run.

#include <string>
#include <vector>

#include "tests/integration/kill_oracle.h"
#include "tests/upgrade/versions.h"

namespace proffer::upgrade_test {

struct UpgradeOptions {
  Version from = {};
  // Above 1: they share a ZooKeeper server, and one of them leads.
  int masters = 1;
  int agents = 3;
  int schedulers = 2;
  // Each ends one member as an operator does and starts it again: "master", "agent" or "scheduler",
  // the next of them with today's programs; "back master" and the like, the last that was changed
  // with those of before. In the end all must be of today.
  std::vector<std::string> changes = {};
  std::string dir = {};  // must exist; keeps logs and records
};

// The oracle's judgement, and what a kill storm looks for besides (kill_storm.h). A version that
// joins by TCP runs as one user, not as root; otherwise every second scheduler is another's.
test::Judgement run_rolling_upgrade(const UpgradeOptions& options);

}  // namespace proffer::upgrade_test
