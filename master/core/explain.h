#pragma once

#include <cstdint>
#include <string>

#include "common/explanation.h"

namespace proffer::master {

// Why the ask is not met, in one sentence, on so many agents.
std::string why_unmet(const AskExplanation& ask, int64_t agents);

}  // namespace proffer::master
