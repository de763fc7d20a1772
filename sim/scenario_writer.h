#pragma once

// A scenario as text for people, for files that reproduce a test or a live cluster.

#include <string>

#include "sim/scenario.h"

namespace proffer::sim {

// YAML that parses to an equal scenario. Defaults are left out.
std::string to_yaml(const Scenario& scenario);

}  // namespace proffer::sim
