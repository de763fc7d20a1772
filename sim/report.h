#pragma once

// The report of a simulated scenario: made from the master's state and the true state, and written
// as tables for people.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "proto/simulate_report.h"
#include "sim/machine.h"
#include "sim/master_node.h"
#include "sim/task_book.h"
#include "sim/tenant.h"

namespace proffer::sim {

// The greatest lags of frameworks that are about to leave, and of all roles then.
struct LagsOfGone {
  std::map<std::string, Duration> frameworks = {};
  std::map<RoleName, Duration> roles = {};
  // Also with the lags that the master knows now.
  void note(const master::Master& master);
};

// The parts of a running scenario.
struct ScenarioCluster {
  const Scenario& scenario;
  const MasterNode& master;
  const TaskBook& book;
  const std::vector<std::unique_ptr<Machine>>& machines;
  const std::vector<std::unique_ptr<Tenant>>& tenants;
  const LagsOfGone& lags;
};

// The present state. O(all).
proto::SimulateReport::Picture picture_of(const ScenarioCluster& cluster, Time now);

// The smallest value that `percent` percent of all values do not exceed (nearest rank); zero if
// there are none.
Duration percentile(std::vector<Duration> values, int percent);

std::string report_tables(const proto::SimulateReport& report);

}  // namespace proffer::sim
