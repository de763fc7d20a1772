#pragma once

// What people do with jobs, from the command line to the exit code: 0 done, 1 the job failed or
// something was refused, 2 wrong usage, 3 no master or no scheduler can be reached.

#include <cstdint>
#include <optional>
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
  Parameters parameters = {};   // of the file
  bool takes_schedule = false;  // else a job file with a schedule is refused
  // For an array without an output: a directory of its own where the caller is.
  bool names_output = false;
  bool as_ended = false;  // what elements of an array write is printed in the order of their ends
};

// Checks the job, makes its output directory with the plan in it, and hands it to the scheduler.
// Prints the job's id.
int submit(const SubmitOptions& job, const CommandOptions& options);
// The same, and shows how it gets on until it has ended. A signal ends the job or leaves it alone:
// then the exit code is 128 and the signal.
int run(const SubmitOptions& job, const CommandOptions& options);
// An array: the same, but prints what its elements write, in their order, in place of how it gets
// on.
int run_array(const SubmitOptions& job, const CommandOptions& options);

struct ResultsOptions {
  std::string job = {};
  std::optional<uint32_t> index = {};  // of one element only
  bool only_failed = false;
  bool of_stderr = false;  // in place of standard output
  bool as_table = false;   // how elements ended, in place of what they wrote
  // Of an array that runs:
  bool follow = false;    // until it has ended; then the exit code is that of run()
  bool as_ended = false;  // in the order of their ends
};
// What the elements of an array wrote, in their order. Of one that runs: as far as it is there.
int show_results(const ResultsOptions& what, const CommandOptions& options);
// The jobs of all users; or all stages of one pipeline.
int list(const std::string& pipeline, bool with_ended, const CommandOptions& options);
int show_status(const std::string& job, const CommandOptions& options);
// Shows how a job gets on until it has ended.
int watch(const std::string& job, const CommandOptions& options);
// The same without a word before its end.
int wait(const std::string& job, const CommandOptions& options);
int cancel(const std::string& job, const CommandOptions& options);
int retry(const std::string& job, const CommandOptions& options);
// The last `limit` jobs that have ended, the latest first.
int history(int64_t limit, const CommandOptions& options);
// What the stages and attempts of a job took beside what they asked for, from the master's history;
// on standard output, or with a timeline as one file of HTML.
int report(const std::string& job, const std::string& html_file, const CommandOptions& options);

// Schedules: all of them; the log of one and its next `count` fire times; `verb` is "pause",
// "resume" or "remove".
int list_schedules(const CommandOptions& options);
int show_fire_times(const std::string& name, int64_t count, const CommandOptions& options);
int change_schedule(const std::string& name, const std::string& verb,
                    const CommandOptions& options);

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
