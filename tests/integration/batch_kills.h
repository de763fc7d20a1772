#pragma once

// The jobs of examples/batch on a cluster of real processes that are killed with SIGKILL at random
// times and restarted. Each job must finish with the same bytes as without kills.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/integration/batch_examples.h"

namespace proffer::test {

struct BatchKills {
  // All of them run at the same time. Each runs again after its end, until the number of kills is
  // reached. Each fire time of a schedule must have been decided once.
  std::vector<BatchExample> examples = {};
  int kills = 10;
  uint64_t seed = 1;     // chooses victims, times, and how long they stay away
  std::string dir = {};  // must exist; keeps logs and outputs
  bool verbose = false;  // prints each kill to standard error
};

struct BatchKillsReport {
  std::vector<std::string> violations = {};
  std::map<std::string, int> kills = {};  // by kind: master, agent, executor, scheduler, command
  std::map<std::string, int> runs = {};   // by example
  std::string summary() const;            // one line
};

BatchKillsReport run_batch_kills(const BatchKills& options);

}  // namespace proffer::test
