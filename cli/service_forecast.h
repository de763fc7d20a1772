#pragma once

// Whether the apps of a plan would fit, and which tasks would be preempted for them: the live
// cluster is simulated with the plan's instances, by the program of `proffer simulate`.

#include <string>
#include <vector>

#include "cli/master_client.h"
#include "common/result.h"
#include "proto/service_status.h"

namespace proffer::cli {

// The snapshot to simulate: without the instances of other versions of the planned apps in `live`,
// and with asks of the framework for the plan's instances. Errors: kNotFound: there is no such
// framework.
Result<proto::LiveSnapshot> with_plans(proto::LiveSnapshot live, const FrameworkId& framework,
                                       const std::vector<proto::ServicePlan>& plans);

// Lines for people; empty if no plan wants instances. Blocks while the cluster is simulated, two
// minutes at most. Errors: those of the master and of the simulation.
Result<std::vector<std::string>> forecast(const Masters& master, const FrameworkId& framework,
                                          const std::vector<proto::ServicePlan>& plans);

}  // namespace proffer::cli
