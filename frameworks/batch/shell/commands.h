#pragma once

// The commands of people for jobs. They return the exit code: 0 done, 1 the job failed or a request
// was refused, 2 wrong usage, 3 no master or no scheduler can be reached.

#include <cstdint>
#include <optional>
#include <string>

#include "common/result.h"
#include "frameworks/batch/shell/job_file.h"

namespace proffer::batch {

struct CommandOptions {
  std::string master = {};  // sockets or HOST:PORT, separated by commas
  std::string framework = "batch";
  bool json = false;
};

struct SubmitOptions {
  std::string job_file = {};  // empty: flags only
  JobText flags = {};
  Parameters parameters = {};   // for the file
  bool takes_schedule = false;  // else a job file with a schedule is refused
  // For an array without an output: makes a new directory in the working directory.
  bool names_output = false;
  bool as_ended = false;  // print the output of elements in the order of their ends
};

// Checks the job, makes its output directory with the plan, and submits it. Prints the job's id.
int submit(const SubmitOptions& job, const CommandOptions& options);
// Submits the job, and shows its progress until it has ended. A signal cancels the job or leaves it
// running: then the exit code is 128 plus the signal.
int run(const SubmitOptions& job, const CommandOptions& options);
// For an array: the same, but prints the output of its elements, in their order, instead of its
// progress.
int run_array(const SubmitOptions& job, const CommandOptions& options);

struct ResultsOptions {
  std::string job = {};
  std::optional<uint32_t> index = {};  // only of this element
  bool only_failed = false;
  bool of_stderr = false;  // instead of standard output
  bool as_table = false;   // the ends of elements, instead of their output
  // For a running array:
  bool follow = false;    // until it has ended; then the exit code is that of run()
  bool as_ended = false;  // in the order of their ends
};
// Prints the output of an array's elements, in their order; for a running array the output so far.
int show_results(const ResultsOptions& what, const CommandOptions& options);
// Lists the jobs of all users, or all stages of one pipeline.
int list(const std::string& pipeline, bool with_ended, const CommandOptions& options);
int show_status(const std::string& job, const CommandOptions& options);
// Shows the progress of a job until it has ended.
int watch(const std::string& job, const CommandOptions& options);
// The same without output before the end.
int wait(const std::string& job, const CommandOptions& options);
int cancel(const std::string& job, const CommandOptions& options);
int retry(const std::string& job, const CommandOptions& options);
// The last `limit` ended jobs, latest first.
int history(int64_t limit, const CommandOptions& options);
// Compares the use of a job's stages and attempts with their requests, from the master's history.
// Prints to standard output, or writes one HTML file with a timeline.
int report(const std::string& job, const std::string& html_file, const CommandOptions& options);

// Schedules: lists all; shows the log of one and its next `count` fire times; changes one: `verb`
// is "pause", "resume" or "remove".
int list_schedules(const CommandOptions& options);
int show_fire_times(const std::string& name, int64_t count, const CommandOptions& options);
int change_schedule(const std::string& name, const std::string& verb,
                    const CommandOptions& options);

struct LogsOptions {
  std::string task = {};    // as in map-3 or map-00003-2; empty: the attempt that failed last
  bool use_stdout = false;  // else standard error
  bool follow = false;
};
// Prints the output of a task of the job: runs `proffer logs` in place of this process.
int show_logs(const std::string& job, const LogsOptions& logs, const CommandOptions& options);

// Prints "error: …" and its hint on standard error, or one object with `json`. Returns the exit
// code.
int print_error(const Error& error, bool json);

}  // namespace proffer::batch
