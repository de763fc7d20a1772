#pragma once

// A job as it is submitted: a streaming MapReduce over files, or an array of commands.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/offers.h"
#include "common/resources.h"
#include "common/result.h"
#include "frameworks/batch/core/array.h"
#include "frameworks/batch/core/locality.h"
#include "frameworks/batch/core/shuffle.h"
#include "frameworks/batch/core/splits.h"
#include "proto/messages.h"

namespace proffer::batch {

// Every maximum with its reason. A job beyond one is refused before it starts. Together they keep a
// work item (work.h) below kPayloadBytesMax.
inline constexpr int64_t kReducersMax = 10'000;  // partition numbers have five digits
inline constexpr size_t kMapsMax = 50'000;       // each reduce receives a list of all maps
inline constexpr size_t kShippedBytesMax =
    256 * 1024;  // of all files in the plan's entry, which each task reads
inline constexpr size_t kShippedFilesMax = 256;
inline constexpr int64_t kLargeFilesBytesMax = int64_t{64}
                                               << 30;  // the submitter waits for the copies
inline constexpr size_t kStreamCommandBytesMax = 16 * 1024;
inline constexpr size_t kJobEnvironmentBytesMax = 32 * 1024;
inline constexpr size_t kPathBytesMax = 4'096;  // PATH_MAX
inline constexpr size_t kInputsMax = 1'000;
inline constexpr size_t kPlanBytesMax = 64;              // of the name of a plan
inline constexpr size_t kStderrTailBytesMax = 4 * 1024;  // of a failed task, reported to its job

inline constexpr size_t kAcceptedExitCodesMax = 16;  // of one command

inline constexpr int32_t kAttempts = 4;
inline constexpr int64_t kSplitBytes = int64_t{8} << 20;
inline constexpr std::string_view kDefaultResources = "cpus:1;mem:256";

// The mapper and the reducer are shell command lines (lines in, key<TAB>value out) under LC_ALL=C.
// Paths are absolute and the same on all agents.
struct JobSpec {
  std::string name = "job";
  RoleName role = {};  // empty: the scheduler chooses
  Band band = Band::kBatch;
  int32_t priority = 0;  // among the jobs of its user; higher first
  std::string map = {};
  std::string reduce = {};  // empty only if there are no reducers
  // Exit codes that count as success, like 0; rising. For example `grep` ends with 1 if nothing
  // matches.
  std::vector<int32_t> map_accepts = {};
  std::vector<int32_t> reduce_accepts = {};
  std::vector<std::string> inputs = {};
  std::string output = {};
  int64_t reducers = 1;  // 0: the output of the mappers is the result
  int64_t split_bytes = kSplitBytes;
  Shuffle shuffle = {};
  InputFormat input_format = {};
  bool decompresses = true;                       // packed files are unpacked for the mapper
  bool by_file = false;                           // no split has more than one file
  bool allow_empty = false;                       // empty input is one split; else it is refused
  std::map<std::string, std::string> files = {};  // contents by name, put into each sandbox
  // Paths by name, for files that are too large for the plan's entry: they are copied beside the
  // plan (plan.h).
  std::map<std::string, std::string> large_files = {};
  std::vector<proto::FetchedFile> fetch = {};  // files that agents put into each sandbox
  proto::Environment env = {};
  // The variables of the shell that submits an array. They are in its plan only.
  proto::Environment exported = {};
  ResourceVector resources = ResourceVector::of(1'000, 256'000);  // of each task
  int32_t attempts = kAttempts;  // this many failures of one task end the job
  // Of each attempt of a map or reduce task; an attempt that exceeds it has failed. Zero: no limit.
  // Arrays have ArrayOrder::timeout.
  Duration time_limit = {};
  // The job fails if, before its first task begins, no agent could ever run a task; else it waits.
  bool fail_if_impossible = false;
  // A task that is much slower than others gets a second attempt beside its first (stragglers.h).
  // Elements of an array do not, since it may be wrong to run them twice.
  bool speculates = true;
  // Hosts near the input (locality.h). `prefer_hosts` are for tasks without other hosts.
  HostsOfPaths hosts_of_paths = {};
  std::vector<std::string> prefer_hosts = {};
  Duration locality_wait = kLocalityWait;
  // In place of map, reduce and inputs; with the arguments of its elements, if any.
  std::optional<ArrayOrder> array = {};
  std::vector<std::string> arguments = {};
  // Or the source of the arguments: the lines of a file, or the files of these inputs.
  std::string lines_of = {};
  std::vector<std::string> files_of = {};

  bool operator==(const JobSpec&) const = default;
};

// Errors: kInvalidArgument names the value, what is allowed and the remedy.
Result<void> check_job(const JobSpec& spec);

// Checks the name of a shipped file: a valid name that the task itself does not use.
Result<void> check_shipped_name(std::string_view name);

// "8MiB", "1G", "100K", "4096" (bytes), "4096B" (byte_units in common). Errors: kInvalidArgument.
Result<int64_t> parse_bytes(std::string_view what, std::string_view text);
// "8.0 MiB", "812 B": for people, rounded down to one decimal.
std::string print_bytes(int64_t bytes);

// Text of programs for a terminal: invalid UTF-8 and control characters except newline and TAB are
// escaped, so that it cannot control the screen. Returns at most `bytes_max` of the end, from the
// start of a line if possible.
std::string printable_tail(std::string_view text, size_t bytes_max);

}  // namespace proffer::batch
