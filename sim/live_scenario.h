#pragma once

// A live cluster as a scenario: what runs now runs at 0s, on the same agents, and what is asked for
// now is wanted then. What `proffer snapshot` writes.

#include <string>
#include <vector>

#include "common/result.h"
#include "proto/live_snapshot.h"
#include "sim/scenario.h"

namespace proffer::sim {

// To which the scenario of a live cluster runs, unless somebody says otherwise: long enough for
// notices, minimum runtimes and claims.
inline constexpr Duration kLiveUntil = minutes(10);

// What an entry of tasks of a scenario was in the live cluster.
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
  // By framework and entry of the scenario.
  std::vector<std::vector<LiveOrigin>> origins = {};
  std::vector<std::string> notes = {};  // what is not in it, or not as it is, for people
};

// How long tasks run is not known to a master: here for ever. Errors: kFailedPrecondition, there is
// no agent to simulate; kInvalidArgument, it is more than can be simulated.
Result<LiveScenario> scenario_of(const proto::LiveSnapshot& live, Duration until = kLiveUntil);

// With a head that says what it is, and the notes, as comments.
std::string to_yaml(const LiveScenario& live);

}  // namespace proffer::sim
