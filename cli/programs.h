#pragma once

// The project's programs, which are installed beside each other.

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/time.h"

namespace proffer::cli {

// The path of proffer-<name>: in $PROFFER_BIN_DIR, else beside this executable. Errors: kNotFound.
Result<std::string> find_program(std::string_view name);

// Executes proffer-<name> with these words in place of this process. Returns only an error.
Error become(std::string_view name, const std::vector<std::string>& words);

// The path at which a program started by output_of() reads `file`.
inline constexpr std::string_view kGivenFile = "/proc/self/fd/3";

// Returns the standard output of proffer-<name> with these words. Blocks until it ends. `file` is
// the content of kGivenFile, in memory: nothing is left behind however this process ends, and the
// program ends with it. Errors: kNotFound, kTimeout (it was killed at the limit), kInternal (it
// cannot be started, or ended with a code other than 0; its standard error is this process's).
Result<std::string> output_of(std::string_view name, const std::vector<std::string>& words,
                              std::string_view file, Duration limit);

// $TMPDIR, else /tmp. Errors: kFailedPrecondition if there is no such directory.
Result<std::string> temporary_directory();

}  // namespace proffer::cli
