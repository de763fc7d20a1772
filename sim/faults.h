#pragma once

// What goes wrong in a run, drawn from its seed before it begins: each seed has its own mix. A
// value: a failing run is made smaller by leaving entries away.

#include <string>
#include <vector>

#include "common/prng.h"
#include "common/time.h"
#include "sim/network.h"

namespace proffer::sim {

enum class FaultKind : uint8_t {
  kAgentCrash,         // kill -9, comes back
  kAgentCrashInStep,   // the same between its records and its actions
  kAgentCrashForGood,  // never comes back; its machine runs on
  kAgentStop,          // SIGTERM, tasks run on; comes back
  kAgentStopKilling,   // SIGTERM with --tasks_on_exit=kill; comes back
  kMachineReboot,      // everything on it ends; the agent comes back
  kMachineForGood,     // never comes back
  kExecutorCrash,
  kMasterCrash,
  kSchedulerCrash,
};
inline constexpr size_t kFaultKindCount = 10;
std::string_view to_text(FaultKind kind);

struct Fault {
  Time at = {};
  FaultKind kind = FaultKind::kAgentCrash;
  size_t target = 0;  // which agent or scheduler
  Duration down = {};
};

struct FaultPlan {
  NetworkRates network = {};
  uint32_t start_failures = 0;  // executors that cannot be started, per thousand
  std::vector<Fault> faults = {};
  Time healed_at = {};  // from then on nothing goes wrong any more

  std::vector<std::string> describe() const;
};

// At least one agent stays in the cluster. Needs agents and schedulers above zero.
FaultPlan draw_faults(Prng chance, size_t agents, size_t schedulers);

}  // namespace proffer::sim
