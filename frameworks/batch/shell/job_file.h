#pragma once

// A job file: YAML (JSON is a subset) whose keys are the flags' names plus name, role, files, env
// and resources; of an array also command, array and arguments. Strict: what is not understood is
// refused, never guessed.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace proffer::batch {

// What was said about a job, in a file or as flags; values as written. Nothing: not said.
struct JobText {
  std::optional<std::string> name = {};
  std::optional<std::string> role = {};
  std::optional<std::string> band = {};
  std::optional<std::string> priority = {};
  std::optional<std::string> map = {};
  std::optional<std::string> reduce = {};
  std::vector<std::string> map_accepts = {};
  std::vector<std::string> reduce_accepts = {};
  std::vector<std::string> inputs = {};
  std::optional<std::string> output = {};
  std::optional<std::string> reducers = {};
  std::optional<std::string> split = {};
  std::optional<std::string> combine = {};
  std::optional<std::string> sort_memory = {};
  std::optional<std::string> key_fields = {};
  std::optional<std::string> partition_fields = {};
  std::optional<std::string> separator = {};
  std::optional<std::string> sort = {};     // as parse_sort
  std::optional<std::string> by_file = {};  // "true" or "false", as the next two
  std::optional<std::string> allow_empty = {};
  std::optional<std::string> fail_if_impossible = {};
  std::optional<std::string> resources = {};
  std::vector<std::string> files = {};  // paths; each is shipped under its last component
  std::vector<std::string> fetch = {};  // as proto::parse_fetched_file
  std::map<std::string, std::string> env = {};
  // Of an array:
  std::vector<std::string> command = {};
  std::optional<std::string> array = {};                   // as parse_array
  std::optional<std::vector<std::string>> arguments = {};  // in place of it
  std::optional<std::string> at_once = {};
  std::optional<std::string> retries = {};
  std::optional<std::string> retry_on = {};    // "75,111"
  std::optional<std::string> ok = {};          // "0,1"
  std::optional<std::string> max_failed = {};  // "10" or "5%"
  std::optional<std::string> timeout = {};
  std::optional<std::string> directory = {};

  bool operator==(const JobText&) const = default;
};

inline constexpr size_t kJobFileBytesMax = size_t{1} << 20;

// Errors: kInvalidArgument with the line: not YAML, more than one document, an unknown key (naming
// the nearest), a key given twice, a value of a wrong type, more than kJobFileBytesMax.
Result<JobText> parse_job_file(std::string_view yaml);

}  // namespace proffer::batch
