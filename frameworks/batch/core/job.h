#pragma once

// What somebody wants computed: a streaming MapReduce over files, or an array of commands.

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

// Every maximum with its reason; a job beyond one is refused before it starts. Together they keep a
// work item (work.h) below kPayloadBytesMax.
inline constexpr int64_t kReducersMax = 10'000;  // partition numbers have five digits
inline constexpr size_t kMapsMax = 50'000;       // each reduce is told of each map
inline constexpr size_t kShippedBytesMax =
    256 * 1024;  // of the files in the plan's entry together; each task reads all of it
inline constexpr size_t kShippedFilesMax = 256;
inline constexpr int64_t kLargeFilesBytesMax = int64_t{64}
                                               << 30;  // the submitter waits for the copies
inline constexpr size_t kStreamCommandBytesMax = 16 * 1024;
inline constexpr size_t kJobEnvironmentBytesMax = 32 * 1024;
inline constexpr size_t kPathBytesMax = 4'096;  // PATH_MAX
inline constexpr size_t kInputsMax = 1'000;
inline constexpr size_t kPlanBytesMax = 64;              // of the name of a plan
inline constexpr size_t kStderrTailBytesMax = 4 * 1024;  // of a failed task, told to its job

inline constexpr size_t kAcceptedExitCodesMax = 16;  // of one command

inline constexpr int32_t kAttempts = 4;
inline constexpr int64_t kSplitBytes = int64_t{8} << 20;
inline constexpr std::string_view kDefaultResources = "cpus:1;mem:256";

// Mapper and reducer are shell command lines (lines in, key<TAB>value out) under LC_ALL=C. Paths
// are absolute and the same on all agents.
struct JobSpec {
  std::string name = "job";
  RoleName role = {};  // empty: the scheduler chooses
  Band band = Band::kBatch;
  int32_t priority = 0;  // among the jobs of its user: higher ones first
  std::string map = {};
  std::string reduce = {};  // empty only if there are no reducers
  // Exit codes that are as good as 0, rising: `grep` ends with 1 if nothing matches.
  std::vector<int32_t> map_accepts = {};
  std::vector<int32_t> reduce_accepts = {};
  std::vector<std::string> inputs = {};
  std::string output = {};
  int64_t reducers = 1;  // 0: the mappers' output is the result
  int64_t split_bytes = kSplitBytes;
  Shuffle shuffle = {};
  InputFormat input_format = {};
  bool decompresses = true;  // packed files are unpacked for the mapper
  bool by_file = false;      // no split has more than one file
  bool allow_empty = false;  // input without a byte is one split; else it is refused
  std::map<std::string, std::string> files = {};  // contents by name, put into each sandbox
  // Paths by name, of files that are too large for that: copied beside the plan (plan.h).
  std::map<std::string, std::string> large_files = {};
  std::vector<proto::FetchedFile> fetch = {};  // that agents put into each sandbox
  proto::Environment env = {};
  ResourceVector resources = ResourceVector::of(1'000, 256'000);  // of each task
  int32_t attempts = kAttempts;  // a task that fails so often ends the job
  // Of each attempt of a map or reduce task; one that exceeds it has failed. Zero: no bound. Arrays
  // have ArrayOrder::timeout.
  Duration time_limit = {};
  // The job fails if, before its first task begins, no agent could ever run one; else it waits.
  bool fail_if_impossible = false;
  // A task that is much slower than others gets a second attempt beside its first (stragglers.h).
  // Elements of an array do not: what they do may not be done twice.
  bool speculates = true;
  // Hosts that have the input near (locality.h); `prefer_hosts` are those of each task without
  // others.
  HostsOfPaths hosts_of_paths = {};
  std::vector<std::string> prefer_hosts = {};
  Duration locality_wait = kLocalityWait;
  // In place of map, reduce and inputs; with the arguments of its elements, if it has any.
  std::optional<ArrayOrder> array = {};
  std::vector<std::string> arguments = {};
  // Or what these are: the lines of a file, or the files of these inputs.
  std::string lines_of = {};
  std::vector<std::string> files_of = {};

  bool operator==(const JobSpec&) const = default;
};

// Errors: kInvalidArgument says which value is wrong, what is allowed and what to do.
Result<void> check_job(const JobSpec& spec);

// A name under which a file may be shipped: a valid name that the task itself does not use.
Result<void> check_shipped_name(std::string_view name);

// "8MiB", "1GiB", "100KiB", "4096" (bytes), "4096B". Errors: kInvalidArgument.
Result<int64_t> parse_bytes(std::string_view what, std::string_view text);
// "8.0 MiB", "812 B": for people, rounded down to one decimal.
std::string print_bytes(int64_t bytes);

// Text of programs for a terminal: invalid UTF-8 and control characters but newline and TAB are
// escaped, so that it can do nothing to the screen. At most `bytes_max` of the end, from the start
// of a line where there is one.
std::string printable_tail(std::string_view text, size_t bytes_max);

}  // namespace proffer::batch
