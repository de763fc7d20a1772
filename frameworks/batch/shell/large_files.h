#pragma once

// Shipped files that are too large for the job's plan: the submitting command copies them beside
// the plan, as the user (ADR 0103).

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "frameworks/batch/core/plan.h"

namespace proffer::batch {

// The files to ship: paths by their names in the sandbox.
struct DividedFiles {
  std::map<std::string, std::string> small = {};  // at most kShippedBytesMax together
  std::map<std::string, std::string> large = {};
  bool operator==(const DividedFiles&) const = default;
};
// As many of the smallest files as fit are small. A file that is not regular, such as a pipe, is
// small. Errors: kNotFound, kUnavailable with the system's words; kInvalidArgument for two files of
// one name, and for a directory; kResourceExhausted if they are too large together.
Result<DividedFiles> divide_files(const std::vector<std::string>& paths);

// The state of a file before or after its copy was made.
struct FileState {
  int64_t bytes = 0;
  int64_t modified_s = 0;
  int64_t modified_ns = 0;
  bool operator==(const FileState&) const = default;
};
// Checks that the copy is the file as it was at one time. Errors: kUnavailable.
Result<void> check_copied(std::string_view path, const FileState& before, const FileState& after,
                          int64_t copied);

// Copies the files, by name, into `plan_directory`, durably. Errors: those of check_copied, and
// kNotFound, kUnavailable, kResourceExhausted.
Result<std::map<std::string, LargeFile>> copy_large_files(
    const std::map<std::string, std::string>& paths, const std::string& plan_directory);

}  // namespace proffer::batch
