#pragma once

// Chaos: three masters with a real ZooKeeper server, three agents and two schedulers, each on a
// machine of its own, under load, while several faults at a time befall them; then all heals,
// everything must come to its end, and two oracles judge what was written down
// (tests/integration/kill_oracle.h, registry_oracle.h). docs/adr/0065 has the faults and the laws.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/integration/kill_oracle.h"

namespace proffer::test {

struct ChaosOptions {
  int seconds = 10;   // for so long faults begin
  int count = 0;      // so many faults at most; 0: any number
  uint64_t seed = 1;  // chooses which, when, to whom, and for how long
  // Only these, by their names; empty: all.
  std::vector<std::string> faults = {};
  std::string dir = {};  // must exist; keeps logs and records
  bool verbose = false;  // says each fault on standard error
};

// The names of all faults.
std::vector<std::string> names_of_faults();

// Why this machine cannot do it; empty: it can.
std::string chaos_is_impossible();

struct ChaosJudgement {
  Judgement tasks = {};       // with all violations
  std::string registry = {};  // summary
};

// The process has mounts of its own afterwards.
ChaosJudgement run_chaos(const ChaosOptions& options);

}  // namespace proffer::test
