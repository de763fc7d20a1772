#pragma once

// A cluster of real processes under load, whose processes are killed with -9 at random moments and
// started again; then everything must settle, and kill_oracle.h judges.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/integration/kill_oracle.h"

namespace proffer::test {

struct StormOptions {
  int kills = 10;
  int minutes = 0;    // if not 0: kills go on for so long, however many they are
  uint64_t seed = 1;  // chooses whom, when, and for how long it stays away
  int agents = 3;
  int schedulers = 2;
  // Above 1: they share a ZooKeeper server, and one of them leads.
  int masters = 1;
  // Who is killed, each in turn: "master" (any), "leader", "agent", "executor", "stem",
  // "scheduler". A "paused leader" is stopped until another leads, and goes on.
  std::vector<std::string> kinds = {"master", "agent", "executor", "stem", "scheduler"};
  std::string dir = {};  // must exist; keeps logs and records
  bool verbose = false;  // says each kill on standard error
};

// The oracle's judgement, and what could not be told by records alone: that all settled in time,
// that no process is left, that the whole cluster can be used again, and that no cgroup, mount or
// socket is left once it has ended. As root with limits where the machine has them, and every
// second scheduler is of another user.
Judgement run_storm(const StormOptions& options);

}  // namespace proffer::test
