#pragma once

// A job file: YAML (JSON is a subset). Its keys are the names of the flags and name, role, files,
// env and resources; for an array also command, array and arguments. A pipeline has these keys for
// each stage. The parser is strict: unknown or unclear text is refused, never guessed.
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

// The values given for a job, in a file or as flags, as written. None: not given.
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
  std::optional<std::string> input_format = {};  // see parse_input_format
  std::optional<std::string> decompress = {};    // "true" or "false"
  std::optional<std::string> combine = {};
  std::optional<std::string> sort_memory = {};
  std::optional<std::string> key_fields = {};
  std::optional<std::string> partition_fields = {};
  std::optional<std::string> separator = {};
  std::optional<std::string> sort = {};     // see parse_sort
  std::optional<std::string> by_file = {};  // "true" or "false", like the next two
  std::optional<std::string> allow_empty = {};
  std::optional<std::string> private_tmp = {};
  std::optional<std::string> fail_if_impossible = {};
  std::optional<std::string> speculation = {};  // "on" or "off"
  std::vector<std::string> prefer_hosts = {};
  std::optional<std::string> locality = {};       // path of a file; see parse_hosts_of_paths
  std::optional<std::string> locality_wait = {};  // a duration
  std::optional<std::string> resources = {};
  std::optional<std::string> time_limit = {};  // of a task; for an array, of an element
  std::vector<std::string> files = {};         // paths; each is shipped under its last component
  std::vector<std::string> fetch = {};         // see proto::parse_fetched_file
  std::map<std::string, std::string> env = {};
  // For an array:
  std::vector<std::string> command = {};
  std::optional<std::string> array = {};                   // see parse_array
  std::optional<std::vector<std::string>> arguments = {};  // instead of `array`
  std::optional<std::string> at_once = {};
  std::optional<std::string> retries = {};
  std::optional<std::string> retry_on = {};    // "75,111"
  std::optional<std::string> requeue_on = {};  // "99"
  std::optional<std::string> ok = {};          // "0,1"
  std::optional<std::string> max_failed = {};  // "10" or "5%"
  std::optional<std::string> timeout = {};     // another name for time_limit
  std::optional<std::string> signal = {};      // see proto::parse_limit_warning
  std::optional<std::string> directory = {};
  std::optional<std::string> each_line = {};  // instead of arguments: the lines of a file,
  std::vector<std::string> each_file = {};    // or the files of these inputs
  std::optional<std::string> gang = {};  // instead of array: this many ranks, all at the same time
  std::optional<std::string> run = {};   // instead of all these: one shell command line
  // Its dependencies: stages of its pipeline, or jobs.
  std::vector<std::string> after = {};
  std::vector<std::string> after_failure = {};
  std::vector<std::string> after_any = {};
  std::optional<std::string> after_each = {};  // an array whose elements these wait for
  std::optional<std::string> when = {};        // "all" or "any" of these

  // True for an array, also with `run`.
  // Of an array on a command line, as net/exported_environment.h says; none: nothing is exported.
  std::optional<std::string> exports = {};
  bool has_sandbox_home = false;
  bool login = false;  // run the command in a login shell

  bool says_array() const {
    return !command.empty() || array || arguments || each_line || !each_file.empty() || run || gang;
  }
  bool operator==(const JobText&) const = default;
};

inline constexpr size_t kJobFileBytesMax = size_t{1} << 20;

// The lines of a table's keys.
using KeyLines = std::map<std::string, int>;

struct StageText {
  std::string name = {};
  int line = 0;
  KeyLines lines = {};
  JobText job = {};
  bool operator==(const StageText& o) const {
    return name == o.name && line == o.line && job == o.job;
  }
};

// When the job or the pipeline is started again and again.
struct ScheduleText {
  std::optional<std::string> cron = {};
  std::optional<std::string> zone = {};
  std::optional<std::string> overlap = {};   // see parse_overlap
  std::optional<std::string> catch_up = {};  // see parse_catch_up
  bool operator==(const ScheduleText&) const = default;
};

struct JobFile {
  JobText job = {};  // with stages: the common values of all of them
  KeyLines lines = {};
  std::vector<StageText> stages = {};  // empty: a single job
  std::optional<ScheduleText> schedule = {};
  // What the file says; not where.
  bool operator==(const JobFile& o) const {
    return job == o.job && stages == o.stages && schedule == o.schedule;
  }
};

// The error of a value in the file, which begins with its key: "line 3: reducers must be …".
Error with_line(Error error, const KeyLines& lines);

// The rules of a job file; also for editors: share/proffer/job.schema.json.
const yaml::Schema& job_file_schema();

using Parameters = std::map<std::string, std::string>;

// `given` parameters override the file's. Relative outputs of stages in the file are below
// `directory`. Errors: kInvalidArgument with the line: not YAML, more than one document, an unknown
// key or parameter (naming the nearest), a key given twice, a value of a wrong type, more than
// kJobFileBytesMax.
Result<JobFile> parse_job_file(std::string_view yaml, const Parameters& given = {},
                               std::string_view directory = "/");

}  // namespace proffer::batch
