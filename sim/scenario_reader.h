#pragma once

// The text of a scenario, in YAML or JSON.

#include <string_view>

#include "common/result.h"
#include "sim/scenario.h"

namespace proffer::sim {

// Errors: kInvalidArgument says the line, the key or value that is wrong, what is allowed, and for
// an unknown key the nearest known one.
Result<Scenario> parse_scenario(std::string_view yaml);

// The same for a file to which tables add agents and work: it may have none of its own.
Result<Scenario> parse_scenario_part(std::string_view yaml);

}  // namespace proffer::sim
