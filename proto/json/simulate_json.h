#pragma once

// The report of `proffer simulate` in JSON. The rules of json.h apply.

#include <string>

#include "proto/simulate_report.h"

namespace proffer::proto {

// One object. docs/concepts/simulate.md lists its members.
std::string simulate_report_json(const SimulateReport& report);

}  // namespace proffer::proto
