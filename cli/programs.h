#pragma once

// Our programs lie beside each other.

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/time.h"

namespace proffer::cli {

// The path of proffer-<name>: in $PROFFER_BIN_DIR, else beside this executable. Errors: kNotFound.
Result<std::string> find_program(std::string_view name);

// Becomes proffer-<name> with these words. Returns only an error.
Error become(std::string_view name, const std::vector<std::string>& words);

// A path by which a program that output_of() starts reads the file that it was given.
inline constexpr std::string_view kGivenFile = "/proc/self/fd/3";

// What proffer-<name> with these words writes to its standard output. Blocks until it ends. `file`
// is the content of kGivenFile, in memory: nothing is left however this process ends, and the
// program ends with it. Errors: kNotFound, kTimeout (it was killed at the limit), kInternal (it
// cannot be started, or ends with another code than 0; its standard error is this process's).
Result<std::string> output_of(std::string_view name, const std::vector<std::string>& words,
                              std::string_view file, Duration limit);

// $TMPDIR, else /tmp. Errors: kFailedPrecondition if there is no such directory.
Result<std::string> temporary_directory();

}  // namespace proffer::cli
