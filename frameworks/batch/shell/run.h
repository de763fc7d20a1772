#pragma once

// `proffer batch run`: the attached scheduler of one job.

#include <string>

#include "frameworks/batch/shell/job_file.h"

namespace proffer::batch {

struct RunOptions {
  std::string job_file = {};  // empty: flags only
  JobText flags = {};
  std::string master = {};  // sockets or HOST:PORT, with commas
  bool json = false;
};

// Runs the job to its end and prints what happens. Returns the exit code: 0 done, 1 the job failed
// or was refused, 2 wrong usage, 3 the master cannot be reached, 130 or 143 interrupted.
int run(const RunOptions& options);

// "error: …" and its hint on standard error; with `json` as one object.
void print_error(const Error& error, bool json);

}  // namespace proffer::batch
