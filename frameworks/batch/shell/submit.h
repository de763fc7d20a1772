#pragma once

// Makes a job from the typed options: the job file, the flags that override it, and shipped files.

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "frameworks/batch/core/job.h"
#include "frameworks/batch/shell/job_file.h"

namespace proffer::batch {

// The file's job or stages. Relative paths are relative to the file's directory.
Result<JobFile> read_job_file(const std::string& path, const Parameters& parameters = {});

// `flags` override `file`: each value and each list replaces the file's, env name by name. Relative
// paths of flags are relative to the working directory. Reads the files to ship. Errors:
// kInvalidArgument if check_job or a parser refuses, and those of read_file.
Result<JobSpec> make_job(const JobText& file, const JobText& flags);

// Arguments that follow each other, each ended by `end`; the last one need not be. Errors:
// kInvalidArgument beyond the bounds of arguments (array.h), kUnavailable if the input cannot be
// read.
Result<std::vector<std::string>> read_arguments(std::FILE* from, char end);

}  // namespace proffer::batch
