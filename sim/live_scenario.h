#pragma once

// A live cluster as a scenario: its running tasks run at 0s on the same agents, and its present
// asks arrive then. `proffer snapshot` writes this.

#include <string>
#include <vector>

#include "common/result.h"
#include "proto/live_snapshot.h"
#include "sim/scenario.h"

namespace proffer::sim {

// The default end of the scenario of a live cluster: long enough for notices, minimum runtimes and
// claims.
inline constexpr Duration kLiveUntil = minutes(10);

// The origin of an entry of tasks in the live cluster.
struct LiveOrigin {
  FrameworkId framework = {};
  std::string name = {};  // of the framework
  RoleName role = {};
  AskName ask = {};       // empty: of none
  std::string kind = {};  // proto::kind_of() its tasks
  int64_t pending = 0;    // tasks that the ask lacks; the last ones may be left out
  bool ending = false;    // its tasks were being killed
  bool claims = false;    // agents were set aside for it
};

struct LiveScenario {
  Scenario scenario = {};
  // The origins by framework and entry of the scenario.
  std::vector<std::vector<LiveOrigin>> origins = {};
  std::vector<std::string> notes = {};  // what is left out or differs, for people
};

// The run times of tasks are unknown to a master: here they run forever. Errors:
// kFailedPrecondition: there is no agent to simulate; kInvalidArgument: it is too large to be
// simulated.
Result<LiveScenario> scenario_of(const proto::LiveSnapshot& live, Duration until = kLiveUntil);

// The scenario as YAML, with a header and the notes as comments.
std::string to_yaml(const LiveScenario& live);

}  // namespace proffer::sim
