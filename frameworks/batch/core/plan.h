#pragma once

// The plan of a job: the input of each map task, and the files that are shipped to all tasks. It
// may be large, and only the job's user can read the input, so it is not sent: the CLI writes it
// into the output directory as the submitting user, and each task reads its own entry there as the
// same user.
//
//   OUTPUT/_temporary/plan-<name>/index    an IndexEntry for each entry
//   OUTPUT/_temporary/plan-<name>/entries  one after the other
//   OUTPUT/_temporary/plan-<name>/order    of an array: its order, for `proffer batch results`
//   OUTPUT/_temporary/plan-<name>/exported the variables of the shell that submitted an array, for
//                                          its user only
//   OUTPUT/_temporary/plan-<name>/files/   copies of shipped files that are too large for an entry
//
// The input of a job that waits for others does not exist when it is submitted, so its plan is made
// in the cluster by its first task. Until then its whole directory waits beside OUTPUT and has
//
//   PARENT/.waiting-<name>/_temporary/plan-<name>/request   a PlanRequest
//   PARENT/.waiting-<name>/_temporary/plan-<name>/order     of an array
//   PARENT/.waiting-<name>/_temporary/plan-<name>/hosts     if it has a locality file
//
// The task writes `index`, `entries`, `order` and `result`, a PlanResult, into `plan-<name>/made`,
// which appears atomically: the plan of the first attempt counts. Then it moves the directory to
// OUTPUT. A job whose plan was known has a plan in its waiting directory, and no request.
//
// Entry i is the split of map task i, or the i-th list of an array's arguments (array.h); the last
// entry has the shipped files.
//
// A job that failed or was cancelled leaves OUTPUT free: its last task moves the directory aside. A
// retry continues in it there, and moves it back when its work is done. The directory of an array
// stays in its place.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "frameworks/batch/core/job.h"
#include "frameworks/batch/core/splits.h"
#include "frameworks/batch/core/work.h"

namespace proffer::batch {

// The submitter chooses the name, so a directory in the place of another job's is noticed.
std::string plan_directory(std::string_view output, std::string_view plan);
// Beside the output, ".unfinished-<job>-<plan>".
std::string aside_directory(std::string_view output, const JobId& job, std::string_view plan);

// Beside the output, ".waiting-<plan>".
std::string waiting_directory(std::string_view output, std::string_view plan);
// The result of the first task, in a plan's directory.
std::string made_plan(std::string_view plan_directory);

// The file of exported variables, in a plan's directory.
std::string exported_path(std::string_view plan_directory);
// The copy of a large file, in a plan's directory.
std::string large_file_path(std::string_view plan_directory, std::string_view name);

// A file that is shipped as a copy in the plan's directory; each task has a link to it. A task
// notices a changed copy by its size or time.
struct LargeFile {
  int64_t bytes = 0;
  int64_t modified_s = 0;  // since 1970, of the file that was copied
  bool operator==(const LargeFile&) const = default;
};

// The files of a job by name.
struct ShippedFiles {
  std::map<std::string, std::string> contents = {};
  std::map<std::string, LargeFile> large = {};
  bool operator==(const ShippedFiles&) const = default;
};

// The input of a plan. For an array only the last of these.
struct PlanRequest {
  std::vector<std::string> inputs = {};
  int64_t split_bytes = kSplitBytes;
  bool by_file = false;
  bool allow_empty = false;
  InputFormat format = {};
  bool decompresses = true;
  ShippedFiles files = {};
  // Arguments of an array are the lines of a file, or the files of these inputs.
  std::string lines_of = {};
  // The file `hosts` beside the request names the agents that are near each input (HostsOfPaths).
  // Tasks wait for them for this time.
  std::optional<Duration> locality_wait = {};
  bool operator==(const PlanRequest&) const = default;
};
inline constexpr size_t kPlanRequestBytesMax =
    kInputsMax * (kPathBytesMax + 4) + 2 * kShippedBytesMax;

// Errors of decoders: kCorruption, for any bytes that encode does not make.
std::string encode_split(const Split& split);
Result<Split> decode_split(std::string_view bytes);
std::string encode_files(const ShippedFiles& files);
Result<ShippedFiles> decode_files(std::string_view bytes);
std::string encode_plan_request(const PlanRequest& request);
Result<PlanRequest> decode_plan_request(std::string_view bytes);

std::string encode_exported(const proto::Environment& exported);
Result<proto::Environment> decode_exported(std::string_view bytes);
inline constexpr size_t kExportedFileBytesMax =
    kEnvironmentBytesMax + 2 * kEnvironmentEntriesMax + 64;

// The most bytes of an entry.
inline constexpr size_t kPlanEntryBytesMax = kShippedBytesMax + 256 * 1024;

// The place of an entry with these bytes, and its checksum.
IndexEntry plan_entry(int64_t offset, std::string_view bytes);
// Errors: kCorruption if these bytes are not the entry.
Result<void> check_plan_entry(const IndexEntry& entry, std::string_view bytes);

}  // namespace proffer::batch
