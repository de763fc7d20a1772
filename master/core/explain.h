#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/explanation.h"

namespace proffer::master {

// Why the ask is not met on this number of agents, in one sentence.
std::string why_unmet(const AskExplanation& ask, int64_t agents);

// "did you mean …", or else some of the existing names.
std::string hint_of(std::string_view word, const std::vector<std::string>& names,
                    std::string_view what);

}  // namespace proffer::master
