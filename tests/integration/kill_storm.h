#pragma once

// A cluster of real processes under load, which are killed with SIGKILL at random times and
// restarted. Then everything must settle, and kill_oracle.h judges.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/integration/kill_oracle.h"

namespace proffer::test {

struct StormOptions {
  int kills = 10;
  int minutes = 0;    // if not 0: the duration of the kills; their number has no limit
  uint64_t seed = 1;  // chooses victims, times, and how long they stay away
  int agents = 3;
  int schedulers = 2;
  // If above 1, they share a ZooKeeper server, and one of them leads.
  int masters = 1;
  int session_seconds = 2;  // in ZooKeeper
  // The victims, in random order: "master" (any), "leader", "agent", "executor", "fork_server",
  // "scheduler". A "paused leader" is stopped until another one leads, and then continues.
  std::vector<std::string> kinds = {"master", "agent", "executor", "fork_server", "scheduler"};
  std::string dir = {};  // must exist; keeps logs and records
  bool verbose = false;  // prints each kill to standard error
};

// Returns the oracle's judgement, with checks that records cannot show: everything settled in time,
// no process remains, the whole cluster is usable again, and no cgroup, mount or socket remains
// after its end. As root it uses limits if the machine supports them, and every second scheduler
// belongs to another user.
Judgement run_storm(const StormOptions& options);

}  // namespace proffer::test
