#pragma once

// The report of a simulated scenario: put together from what the master says and what is true, and
// written as tables for people.

#include <memory>
#include <string>
#include <vector>

#include "proto/simulate_report.h"
#include "sim/machine.h"
#include "sim/master_node.h"
#include "sim/task_book.h"
#include "sim/tenant.h"

namespace proffer::sim {

// What a scenario is made of while it runs.
struct ScenarioCluster {
  const Scenario& scenario;
  const MasterNode& master;
  const TaskBook& book;
  const std::vector<std::unique_ptr<Machine>>& machines;
  const std::vector<std::unique_ptr<Tenant>>& tenants;
};

// Everything now. O(all).
proto::SimulateReport::Picture picture_of(const ScenarioCluster& cluster, Time now);

// The smallest value below which or at which so many percent of all are (nearest rank); zero of
// none.
Duration percentile(std::vector<Duration> values, int percent);

std::string report_tables(const proto::SimulateReport& report);

}  // namespace proffer::sim
