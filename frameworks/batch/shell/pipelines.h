#pragma once

// What people do with a whole pipeline. Its stages are jobs; there is nothing else to ask the
// scheduler for.

#include <string>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "frameworks/batch/shell/commands.h"
#include "proto/batch_status.h"

namespace proffer::batch {

// The scheduler said `no_job` to this name: whether a pipeline has it. Errors: those of the
// question, asked again for `patience` where master or scheduler are away.
Result<bool> is_pipeline(const std::string& name, const Error& no_job,
                         const CommandOptions& options, Duration patience = {});

// All return the exit code, as commands of jobs do.
int show_pipeline(const std::string& pipeline, const CommandOptions& options);
int watch_pipeline(const std::string& pipeline, const CommandOptions& options, bool is_silent);
// The same for one that was just submitted: SIGINT and SIGTERM cancel it, SIGHUP leaves it alone.
int run_pipeline(const std::string& pipeline, const CommandOptions& options);
int cancel_pipeline(const std::string& pipeline, const CommandOptions& options);
// All of its stages that failed or were cancelled; those that were skipped follow.
int retry_pipeline(const std::string& pipeline, const CommandOptions& options);

// The phase of all of it: that of a stage that failed or was cancelled, else kFinished, once all
// have ended; else nothing. A stage that was skipped decides nothing.
std::optional<proto::BatchPhase> end_of_pipeline(const std::vector<proto::BatchJob>& stages);

}  // namespace proffer::batch
