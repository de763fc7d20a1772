#pragma once

// From what was typed to a job that can start: the job file, the flags over it, shipped files.

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "frameworks/batch/core/job.h"
#include "frameworks/batch/shell/job_file.h"

namespace proffer::batch {

// The file's job, or its stages, with relative paths taken from the directory that the file is in.
Result<JobFile> read_job_file(const std::string& path, const Parameters& parameters = {});

// `flags` say more than `file`: a value over its value, a list in place of its list, env name by
// name. Relative paths of flags are taken from the working directory. Reads the files to ship.
// Errors: kInvalidArgument for what check_job and the parsers refuse, and what read_file does.
Result<JobSpec> make_job(const JobText& file, const JobText& flags);

// Arguments that stand one behind the other, each ended by `end`; the last one need not be. Errors:
// kInvalidArgument beyond the bounds of arguments (array.h), kUnavailable if it cannot be read.
Result<std::vector<std::string>> read_arguments(std::FILE* from, char end);

}  // namespace proffer::batch
