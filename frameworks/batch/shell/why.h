#pragma once

// Why a job is not faster: what the master says of its asks.

#include <string>
#include <vector>

#include "common/result.h"
#include "frameworks/batch/shell/commands.h"
#include "proto/batch_status.h"
#include "proto/explain.h"

namespace proffer::batch {

// For each ask of the job that is not met, how much it wants, and what keeps agents from being
// offered to it, with the most agents first; without a newline. None: all that it wants runs.
std::vector<std::string> why_lines(const std::string& job, const proto::Explanation& all);

// The master's explanation of the framework that runs the job. Errors: the master's.
Result<proto::Explanation> ask_why(const CommandOptions& options, const proto::BatchJob& job);

}  // namespace proffer::batch
