#pragma once

// The report of `proffer simulate` in JSON. The rules of json.h hold.

#include <string>

#include "proto/simulate_report.h"

namespace proffer::proto {

// One object, whose members are those of docs/concepts/simulate.md.
std::string simulate_report_json(const SimulateReport& report);

}  // namespace proffer::proto
