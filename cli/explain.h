#pragma once

// The output of `proffer explain`, as lines.

#include <string>
#include <vector>

#include "proto/explain.h"
#include "proto/forecast.h"

namespace proffer::cli {

// The answer, then its details.
std::vector<std::string> explain_lines(const proto::Explanation& explanation);
// The estimated starts of its asks.
std::vector<std::string> start_lines(const std::vector<proto::PendingRow>& pending);
std::vector<std::string> explain_lines(const proto::ExplainedRole& role);
std::vector<std::string> explain_lines(const proto::ExplainedTask& task);

}  // namespace proffer::cli
