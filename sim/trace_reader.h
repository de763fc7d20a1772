#pragma once

// What happened on some cluster, as tables, made into a scenario: work from a CSV file, and
// machines and work of the trace openb (Alibaba's cluster-trace-gpu-v2023; Weng et al., USENIX ATC
// 2023). docs/concepts/simulate.md says how each column is read.

#include <cstddef>
#include <string_view>

#include "common/result.h"
#include "sim/scenario.h"

namespace proffer::sim {

// Of each table.
inline constexpr size_t kTraceBytesMax = size_t{256} << 20;

// Each adds to the scenario, and may have added some of it when it fails. Errors are
// kInvalidArgument and say line, column, value and what is allowed. What no line shows (two agents
// of one name, too many) check_scenario() tells.

// arrive_s,framework,role,cpus,mem_mib,duration_s,count: one line for each group of tasks that
// arrive together. `role` and `count` may be left out, a duration may be "forever".
Result<void> add_csv_tasks(std::string_view table, Scenario& scenario);

// sn,cpu_milli,memory_mib,gpu,model: one agent for each line.
Result<void> add_openb_nodes(std::string_view table, Scenario& scenario);

// The columns of pods.csv: one task for each line, in a framework for each class of service.
Result<void> add_openb_pods(std::string_view table, Scenario& scenario);

}  // namespace proffer::sim
