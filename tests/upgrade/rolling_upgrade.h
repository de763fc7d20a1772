#pragma once

// A loaded cluster (tests/integration/loaded_cluster.h) whose members change their version one
// after another while tasks run.

#include <string>
#include <vector>

#include "tests/integration/kill_oracle.h"
#include "tests/upgrade/versions.h"

namespace proffer::upgrade_test {

struct UpgradeOptions {
  Version from = {};
  // If above 1, they share a ZooKeeper server, and one of them leads.
  int masters = 1;
  int agents = 3;
  int schedulers = 2;
  // Each change ends one member like an operator, and restarts it: "master", "agent" or "scheduler"
  // upgrades the next one of that kind; "back master" and the like downgrade the last one that was
  // changed. At the end all must be of the current version.
  std::vector<std::string> changes = {};
  std::string dir = {};  // must exist; keeps logs and records
};

// Returns the oracle's judgement, with the other checks of a kill storm (kill_storm.h). A version
// that connects by TCP runs as one user, not as root; otherwise every second scheduler belongs to
// another user.
test::Judgement run_rolling_upgrade(const UpgradeOptions& options);

}  // namespace proffer::upgrade_test
