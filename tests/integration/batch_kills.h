#pragma once

// The jobs of examples/batch on a cluster of real processes that are killed with -9 at random
// moments and started again. Each job must finish and give the same bytes as without kills.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/integration/batch_examples.h"

namespace proffer::test {

struct BatchKills {
  // All of them run at the same time, each again when it has finished, until there were so many
  // kills. Of a schedule each fire time must have been decided once.
  std::vector<BatchExample> examples = {};
  int kills = 10;
  uint64_t seed = 1;     // chooses the victims, the moments, and how long they stay away
  std::string dir = {};  // must exist; keeps logs and outputs
  bool verbose = false;  // says each kill on standard error
};

struct BatchKillsReport {
  std::vector<std::string> violations = {};
  std::map<std::string, int> kills = {};  // by kind: master, agent, executor, scheduler, command
  std::map<std::string, int> runs = {};   // by example
  std::string summary() const;            // one line
};

BatchKillsReport run_batch_kills(const BatchKills& options);

}  // namespace proffer::test
