#pragma once

// What `proffer explain` says, as lines.

#include <string>
#include <vector>

#include "proto/explain.h"
#include "proto/forecast.h"

namespace proffer::cli {

// The answer, then what it is made of.
std::vector<std::string> explain_lines(const proto::Explanation& explanation);
// When its asks will probably start.
std::vector<std::string> start_lines(const std::vector<proto::PendingRow>& pending);
std::vector<std::string> explain_lines(const proto::ExplainedRole& role);
std::vector<std::string> explain_lines(const proto::ExplainedTask& task);

}  // namespace proffer::cli
