#pragma once

// A scenario as text for people, for files that reproduce what a test or a live cluster did.

#include <string>

#include "sim/scenario.h"

namespace proffer::sim {

// YAML that reads back as an equal scenario. What has its default is left out.
std::string to_yaml(const Scenario& scenario);

}  // namespace proffer::sim
