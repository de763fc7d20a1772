#pragma once

// Reads traces of clusters, as tables, into a scenario: work from a CSV file, and machines and work
// of the trace openb (Alibaba's cluster-trace-gpu-v2023; Weng et al., USENIX ATC 2023).
// docs/concepts/simulate.md describes each column.

#include <cstddef>
#include <string_view>

#include "common/result.h"
#include "sim/scenario.h"

namespace proffer::sim {

// The most bytes of each table.
inline constexpr size_t kTraceBytesMax = size_t{256} << 20;

// Each function adds to the scenario, and may have added a part when it fails. Errors are
// kInvalidArgument with line, column, value and what is allowed. check_scenario() finds errors
// across lines (two agents of one name, too many).

// arrive_s,framework,role,cpus,mem_mib,duration_s,count: one line for each group of tasks that
// arrive together. `role` and `count` may be left out, a duration may be "forever".
Result<void> add_csv_tasks(std::string_view table, Scenario& scenario);

// sn,cpu_milli,memory_mib,gpu,model: one agent for each line.
Result<void> add_openb_nodes(std::string_view table, Scenario& scenario);

// The columns of pods.csv: one task for each line, in a framework for each class of service.
Result<void> add_openb_pods(std::string_view table, Scenario& scenario);

}  // namespace proffer::sim
