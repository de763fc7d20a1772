#pragma once

// The text of a scenario, in YAML or JSON.

#include <string_view>

#include "common/result.h"
#include "sim/scenario.h"

namespace proffer::sim {

// Errors: kInvalidArgument gives the line, the wrong key or value, what is allowed, and for an
// unknown key the nearest known one.
Result<Scenario> parse_scenario(std::string_view yaml);

// The same for a file to which tables add agents and work; it may have none itself.
Result<Scenario> parse_scenario_part(std::string_view yaml);

}  // namespace proffer::sim
