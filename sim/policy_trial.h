#pragma once

// Another policy, tried on the work of a recording: the work is simulated twice, as it was and with
// other settings of roles. What frameworks wanted, when they wanted it and how long their tasks ran
// is as in the recording; when tasks are launched is decided anew.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "proto/policy_trial.h"
#include "sim/master_node.h"
#include "sim/recorded_work.h"
#include "sim/scenario.h"

namespace proffer::sim {

// Settings of one role, in place of those that it had. What is not said stays.
struct RoleChange {
  RoleName role = {};
  std::optional<int64_t> weight = {};
  std::optional<Quota> guarantee = {};
  std::optional<Quota> limit = {};
  bool operator==(const RoleChange&) const = default;
};
// "role eng weight=3", "role eng/ads guarantee=cpus:10;mem:10GiB limit=cpus:20". Errors:
// kInvalidArgument says which word is wrong and what is allowed.
Result<RoleChange> parse_role_change(std::string_view text);

// The work as a scenario, and what a scenario has no words for, which happens beside it: what
// operators did, and when nobody led.
struct WorkScenario {
  Scenario scenario = {};
  std::vector<std::pair<Duration, master::MasterEvent>> operations = {};
  std::vector<std::pair<Duration, Duration>> gaps = {};
  // As RunSetup has them.
  std::vector<proto::AgentRecord> drained = {};
  std::vector<proto::ReservationRecord> reservations = {};
  std::vector<std::string> notes = {};  // what is not in it, or not as it was, for people
};
// An operator does this; other events do nothing.
void operate_as(MasterNode& master, const master::MasterEvent& event);
// Errors: kFailedPrecondition: it has no agents or no tasks; kInvalidArgument: it is more than can
// be simulated, or the changed roles contradict each other.
Result<WorkScenario> scenario_of(const Work& work, const std::vector<RoleChange>& changes);

// Simulates the work twice. Errors: as scenario_of(); kNotFound: a role has no tasks in the work;
// kInternal: an invariant was violated.
Result<proto::PolicyTrial> try_policy(const Work& work, const std::vector<RoleChange>& changes);

// For people.
std::string trial_tables(const proto::PolicyTrial& trial);

}  // namespace proffer::sim
