#pragma once

// Why a job is not faster: the master's explanation of its asks.

#include <string>
#include <vector>

#include "common/result.h"
#include "frameworks/batch/shell/commands.h"
#include "proto/batch_status.h"
#include "proto/explain.h"

namespace proffer::batch {

// A line for each unmet ask of the job: how much it wants, and why agents are not offered to it,
// most agents first; without a newline. Empty: all tasks that it wants run.
std::vector<std::string> why_lines(const std::string& job, const proto::Explanation& all);

// The master's explanation of the framework that runs the job. Errors: the master's.
Result<proto::Explanation> ask_why(const CommandOptions& options, const proto::BatchJob& job);

}  // namespace proffer::batch
