#pragma once

// Tries another policy on the work of a recording: the work is simulated twice, with the recorded
// and with other settings of roles. The demands of frameworks, their times and the run times of
// tasks are as recorded; the times of launches are decided anew.

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

// New settings of one role. Settings that are not given stay.
struct RoleChange {
  RoleName role = {};
  std::optional<int64_t> weight = {};
  std::optional<Quota> guarantee = {};
  std::optional<Quota> limit = {};
  bool operator==(const RoleChange&) const = default;
};
// "role eng weight=3", "role eng/ads guarantee=cpus:10;mem:10GiB limit=cpus:20". Errors:
// kInvalidArgument names the word that is wrong and what is allowed.
Result<RoleChange> parse_role_change(std::string_view text);

// The work as a scenario, and events that a scenario cannot express and that happen beside it:
// operations of operators, and times without a leader.
struct WorkScenario {
  Scenario scenario = {};
  std::vector<std::pair<Duration, master::MasterEvent>> operations = {};
  std::vector<std::pair<Duration, Duration>> gaps = {};
  // As in RunSetup.
  std::vector<proto::AgentRecord> drained = {};
  std::vector<proto::ReservationRecord> reservations = {};
  std::vector<std::string> notes = {};  // parts of the work that are left out or differ, for people
};
// Carries out an operator's event; other events have no effect.
void operate_as(MasterNode& master, const master::MasterEvent& event);
// Errors: kFailedPrecondition: there are no agents or no tasks; kInvalidArgument: the work is too
// large to be simulated, or the changed roles contradict each other.
Result<WorkScenario> scenario_of(const Work& work, const std::vector<RoleChange>& changes);

// Simulates the work twice. Errors: as scenario_of(); kNotFound: a role has no tasks in the work;
// kInternal: an invariant was violated.
Result<proto::PolicyTrial> try_policy(const Work& work, const std::vector<RoleChange>& changes);

// Tables for people.
std::string trial_tables(const proto::PolicyTrial& trial);

}  // namespace proffer::sim
