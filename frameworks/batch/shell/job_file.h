#pragma once

// A job file: YAML (JSON is a subset) whose keys are the flags' names plus name, role, files, env
// and resources; of an array also command, array and arguments. Of a pipeline it has these for each
// stage. Strict: what is not understood is refused, never guessed.
//
// ~{NAME} in a value is a parameter that the file declares, ~{STAGE.output} the output of a stage;
// ~~{ stands for ~{.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "yaml/schema.h"

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
  std::optional<std::string> input_format = {};  // as parse_input_format
  std::optional<std::string> decompress = {};    // "true" or "false"
  std::optional<std::string> combine = {};
  std::optional<std::string> sort_memory = {};
  std::optional<std::string> key_fields = {};
  std::optional<std::string> partition_fields = {};
  std::optional<std::string> separator = {};
  std::optional<std::string> sort = {};     // as parse_sort
  std::optional<std::string> by_file = {};  // "true" or "false", as the next two
  std::optional<std::string> allow_empty = {};
  std::optional<std::string> fail_if_impossible = {};
  std::optional<std::string> speculation = {};  // "on" or "off"
  std::vector<std::string> prefer_hosts = {};
  std::optional<std::string> locality = {};       // a path, as parse_hosts_of_paths
  std::optional<std::string> locality_wait = {};  // a duration
  std::optional<std::string> resources = {};
  std::optional<std::string> time_limit = {};  // of a task; of an array, of an element
  std::vector<std::string> files = {};         // paths; each is shipped under its last component
  std::vector<std::string> fetch = {};         // as proto::parse_fetched_file
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
  std::optional<std::string> timeout = {};     // another name for time_limit
  std::optional<std::string> directory = {};
  std::optional<std::string> each_line = {};  // in place of arguments: the lines of a file,
  std::vector<std::string> each_file = {};    // or the files of these inputs
  std::optional<std::string> gang = {};  // in place of array: so many ranks, all at the same time
  std::optional<std::string> run = {};   // in place of all of it: a shell command line, once
  // Its dependencies: stages of its pipeline, or jobs.
  std::vector<std::string> after = {};
  std::vector<std::string> after_failure = {};
  std::vector<std::string> after_any = {};
  std::optional<std::string> after_each = {};  // an array, for whose elements those of this wait
  std::optional<std::string> when = {};        // "all" or "any" of them

  // It is an array; `run` is one, too.
  bool says_array() const {
    return !command.empty() || array || arguments || each_line || !each_file.empty() || run || gang;
  }
  bool operator==(const JobText&) const = default;
};

inline constexpr size_t kJobFileBytesMax = size_t{1} << 20;

struct StageText {
  std::string name = {};
  int line = 0;
  JobText job = {};
  bool operator==(const StageText&) const = default;
};

// When the job, or the pipeline, is started again and again.
struct ScheduleText {
  std::optional<std::string> cron = {};
  std::optional<std::string> zone = {};
  std::optional<std::string> overlap = {};   // as parse_overlap
  std::optional<std::string> catch_up = {};  // as parse_catch_up
  bool operator==(const ScheduleText&) const = default;
};

struct JobFile {
  JobText job = {};                    // with stages: what all of them have in common
  std::vector<StageText> stages = {};  // none: it is one job
  std::optional<ScheduleText> schedule = {};
  bool operator==(const JobFile&) const = default;
};

// The rules of a job file, for editors, too: share/proffer/job.schema.json.
const yaml::Schema& job_file_schema();

using Parameters = std::map<std::string, std::string>;

// `given` parameters count more than the file's; relative outputs of stages that are named in it
// are below `directory`. Errors: kInvalidArgument with the line: not YAML, more than one document,
// an unknown key or parameter (naming the nearest), a key given twice, a value of a wrong type,
// more than kJobFileBytesMax.
Result<JobFile> parse_job_file(std::string_view yaml, const Parameters& given = {},
                               std::string_view directory = "/");

}  // namespace proffer::batch
