#pragma once

// Chaos: three masters with a real ZooKeeper server, three agents and two schedulers, each on a
// machine of its own and under load. Several faults at a time are injected. Then all faults heal,
// all tasks must end, and two oracles judge the records (tests/integration/kill_oracle.h,
// registry_oracle.h). docs/adr/0065 lists the faults and the laws.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/integration/kill_oracle.h"

namespace proffer::test {

struct ChaosOptions {
  int seconds = 10;   // faults begin for this long
  int count = 0;      // maximum number of faults; 0: no limit
  uint64_t seed = 1;  // chooses faults, times, victims and durations
  // Names of the faults to inject; empty: all.
  std::vector<std::string> faults = {};
  std::string dir = {};  // must exist; keeps logs and records
  bool verbose = false;  // prints each fault to standard error
};

// The names of all faults.
std::vector<std::string> names_of_faults();

// The reason why this machine cannot run chaos; empty if it can.
std::string chaos_is_impossible();

struct ChaosJudgement {
  Judgement tasks = {};       // with all violations
  std::string registry = {};  // summary
};

// Afterwards, this process has its own mount namespace.
ChaosJudgement run_chaos(const ChaosOptions& options);

}  // namespace proffer::test
