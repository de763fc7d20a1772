#pragma once

// From what was typed to a job that can start: the job file, the flags over it, shipped files,
// inputs.

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "frameworks/batch/core/job.h"
#include "frameworks/batch/core/splits.h"
#include "frameworks/batch/shell/job_file.h"

namespace proffer::batch {

// The whole of a file of at most `bytes_max` bytes. Errors: kNotFound, kUnavailable with the
// system's words, kResourceExhausted.
Result<std::string> read_file(const std::string& path, size_t bytes_max);

// The file's job with relative paths taken from the directory that the file is in.
Result<JobText> read_job_file(const std::string& path);

// `flags` say more than `file`: a value over its value, a list in place of its list, env name by
// name. Relative paths of flags are taken from the working directory. Reads the files to ship.
// Errors: kInvalidArgument for what check_job and the parsers refuse, and what read_file does.
Result<JobSpec> make_job(const JobText& file, const JobText& flags);

// Arguments that stand one behind the other, each ended by `end`; the last one need not be. Errors:
// kInvalidArgument beyond the bounds of arguments (array.h), kUnavailable if it cannot be read.
Result<std::vector<std::string>> read_arguments(std::FILE* from, char end);

// More would have to be packed into fewer files first.
inline constexpr size_t kInputFilesMax = 5'000'000;

// All regular files of the inputs, directories walked recursively, sorted bytewise; links in them
// are not followed. Errors: kNotFound, kUnavailable naming the path that cannot be read and why;
// kFailedPrecondition if there is not a byte to read, unless that is allowed; kResourceExhausted.
Result<std::vector<InputFile>> find_input(const std::vector<std::string>& inputs,
                                          bool allow_empty = false);

}  // namespace proffer::batch
