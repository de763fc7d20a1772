#pragma once

// The commands of people for a whole pipeline. Its stages are jobs, so the scheduler needs no
// further requests for them.

#include <string>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "frameworks/batch/shell/commands.h"
#include "proto/batch_status.h"

namespace proffer::batch {

// The scheduler answered `no_job` to this name. Returns whether a pipeline has the name. Errors:
// those of the request, which is retried for `patience` while the master or the scheduler is away.
Result<bool> is_pipeline(const std::string& name, const Error& no_job,
                         const CommandOptions& options, Duration patience = {});

// All return the exit code, like the commands for jobs.
int show_pipeline(const std::string& pipeline, const CommandOptions& options);
int watch_pipeline(const std::string& pipeline, const CommandOptions& options, bool is_silent);
// The same for a pipeline that was just submitted: SIGINT and SIGTERM cancel it, SIGHUP leaves it
// running.
int run_pipeline(const std::string& pipeline, const CommandOptions& options);
int cancel_pipeline(const std::string& pipeline, const CommandOptions& options);
// Retries all stages that failed or were cancelled; skipped stages follow.
int retry_pipeline(const std::string& pipeline, const CommandOptions& options);

// The phase of the pipeline once all stages have ended: that of a failed or cancelled stage, else
// kFinished. None before. A skipped stage does not count.
std::optional<proto::BatchPhase> end_of_pipeline(const std::vector<proto::BatchJob>& stages);

}  // namespace proffer::batch
