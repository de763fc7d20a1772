#pragma once

// What people do with jobs, from the command line to the exit code: 0 done, 1 the job failed or
// something was refused, 2 wrong usage, 3 no master or no scheduler can be reached.

#include <string>

#include "common/result.h"
#include "frameworks/batch/shell/job_file.h"

namespace proffer::batch {

struct CommandOptions {
  std::string master = {};  // sockets or HOST:PORT, with commas
  std::string framework = "batch";
  bool json = false;
};

struct SubmitOptions {
  std::string job_file = {};  // empty: flags only
  JobText flags = {};
};

// Checks the job, makes its output directory with the plan in it, and hands it to the scheduler.
// Prints the job's id.
int submit(const SubmitOptions& job, const CommandOptions& options);
// The same, and shows how it gets on until it has ended. A signal ends the job or leaves it alone:
// then the exit code is 128 and the signal.
int run(const SubmitOptions& job, const CommandOptions& options);
int list(bool with_ended, const CommandOptions& options);
int show_status(const std::string& job, const CommandOptions& options);
// Shows how a job gets on until it has ended.
int watch(const std::string& job, const CommandOptions& options);
// The same without a word before its end.
int wait(const std::string& job, const CommandOptions& options);
int cancel(const std::string& job, const CommandOptions& options);
int retry(const std::string& job, const CommandOptions& options);
// The last `limit` jobs that have ended, the latest first.
int history(int64_t limit, const CommandOptions& options);

struct LogsOptions {
  std::string task = {};    // as in map-3 or map-00003-2; empty: the attempt that failed last
  bool use_stdout = false;  // else standard error
  bool follow = false;
};
// What a task of the job wrote: `proffer logs`, in place of this process.
int show_logs(const std::string& job, const LogsOptions& logs, const CommandOptions& options);

// "error: …" and its hint on standard error; with `json` as one object. Returns the exit code.
int print_error(const Error& error, bool json);

}  // namespace proffer::batch
