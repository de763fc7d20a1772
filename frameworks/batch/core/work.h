#pragma once

// What a scheduler tells the executor of one task (TaskSpec.data), and what comes back
// (TaskStatus.data), as values and as bytes. Encodings are length-prefixed with little-endian
// base-128 numbers; decoders take anything: what is not an encoding is kCorruption, nothing
// allocates more than the bytes given can stand for times a small constant.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/ids.h"
#include "common/result.h"
#include "frameworks/batch/core/array.h"
#include "frameworks/batch/core/counters.h"
#include "frameworks/batch/core/job.h"
#include "frameworks/batch/core/locality.h"
#include "frameworks/batch/core/shuffle.h"

namespace proffer {
class ByteReader;
class ByteWriter;
}  // namespace proffer

namespace proffer::batch {

using JobId = Id<struct JobTag>;  // the job's name and a number, unique within its scheduler

// --- names -------------------------------------------------------------------------------------

enum class TaskKind : uint8_t {
  kMap,
  kReduce,
  kEnd,    // commits the job's output, sets it aside, or removes it
  kRange,  // some elements of an array, one after the other
  kPlan,   // looks at the inputs, and says which task reads which (plan.h)
};
std::string_view to_text(TaskKind kind);  // "map", "reduce", "end", "range", "plan"

struct TaskName {
  JobId job = {};
  TaskKind kind = TaskKind::kMap;
  uint32_t number = 0;  // of a range: how many this life of the scheduler has launched before
  uint32_t attempt = 0;
  // Of a range: the positions of the array that it may run. Each update of the task tells them.
  uint32_t first = 0;
  uint32_t count = 0;
  bool operator==(const TaskName&) const = default;
};
// "words-7.map-00007-1", "sweep-8.range-00012-1-400-50", and back.
TaskId to_task_id(const TaskName& name);
std::optional<TaskName> parse_task_id(const TaskId& task);
// "part-00003".
std::string part_name(uint32_t number);

// --- work --------------------------------------------------------------------------------------

// What all kinds of task are told.
struct WorkCommon {
  std::string job = {};
  std::string command = {};
  std::vector<int32_t> accepts = {};  // exit codes of the command that are as good as 0
  proto::Environment env = {};
  std::string output = {};  // the directory that the job's tasks write into: plan.h
  std::string plan = {};    // the job's plan in it
  uint32_t maps = 0;        // of the job
  uint32_t number = 0;      // of the task
  uint32_t attempt = 0;
  bool operator==(const WorkCommon&) const = default;
};

// The task's input is in the plan, under its number.
struct MapWork {
  WorkCommon common = {};
  uint32_t reducers = 0;  // 0: the output is a part of the result
  Shuffle shuffle = {};
  bool operator==(const MapWork&) const = default;
};

// The winning attempt of one map task. Its output is at
// <address>/v1/files/<framework>/<task id>/map.out.
struct MapOutput {
  uint32_t agent = 0;  // index into ReduceWork::addresses
  uint32_t attempt = 0;
  bool operator==(const MapOutput&) const = default;
};

struct ReduceWork {
  WorkCommon common = {};
  std::vector<std::string> addresses = {};  // of the agents' files, as in TaskResult
  std::vector<MapOutput> maps = {};         // by number of the map task
  Shuffle shuffle = {};                     // without its combiner
  bool operator==(const ReduceWork&) const = default;
};

// The last task of a job.
struct EndWork {
  enum class Kind : uint8_t {
    kCommit,    // all parts are there; they are moved to `place`, and _SUCCESS is written
    kSetAside,  // what is there is moved to `place`, for a retry
    kRemove,
  };
  WorkCommon common = {};
  Kind kind = Kind::kCommit;
  std::string place = {};
  uint32_t parts = 0;
  bool operator==(const EndWork&) const = default;
};

// Some elements of an array. It ends when all are done, or when its time is over and it has run at
// least one: the others are launched again.
struct RangeWork {
  WorkCommon common = {};  // without a command; `maps` is the number of the plan's argument entries
  std::vector<std::string> command = {};
  uint32_t first = 0;    // the position of its first element
  Indices indices = {};  // of its elements
  std::string directory = {};
  std::vector<int32_t> ok = {};
  Duration timeout = {};  // of one element; zero: no bound
  Duration time = {};     // after this it begins no further element
  // The files for output that it tries first. Those that another task has are left to it.
  uint32_t lane = 0;
  // Elements may have ended in tasks that never told it: these ends count.
  bool looks_back = false;
  // How often elements have failed, if they have; by their place in the range.
  std::map<uint32_t, int32_t> failures = {};

  uint32_t count() const { return count_of(indices); }
  bool operator==(const RangeWork&) const = default;
};

// The last task of an array: makes one index of the results, and removes the rest.
struct GatherWork {
  WorkCommon common = {};
  Indices indices = {};
  std::vector<int32_t> ok = {};
  uint32_t done = 0;     // elements that have done their work: there is an end of each
  bool commits = false;  // _SUCCESS is written
  bool is_gang = false;  // of each rank the last attempt counts
  bool keeps = false;    // what a retry needs stays
  bool operator==(const GatherWork&) const = default;
};

// The first task of a job that is planned in the cluster. `output` is where its directory waits.
struct PlanWork {
  WorkCommon common = {};
  std::string place = {};  // the directory is moved there
  // If `output` is not there, a copy of this plan is put there first, for a job that a schedule has
  // started; empty: of others.
  std::string model = {};
  bool operator==(const PlanWork&) const = default;
};

using Work = std::variant<MapWork, ReduceWork, EndWork, RangeWork, GatherWork, PlanWork>;

std::string encode_work(const Work& work);
Result<Work> decode_work(std::string_view bytes);

// --- progress ----------------------------------------------------------------------------------

// What the executor of a map or reduce task says to the scheduler (FrameworkMessage.data) while it
// runs, so often. A report may be lost, and is kept nowhere.
inline constexpr Duration kProgressEvery = seconds(5);
inline constexpr int64_t kProgressWhole = 10'000;
struct TaskProgress {
  int64_t done = 0;         // of kProgressWhole
  std::string status = {};  // what its command said of itself last: ReportLines::status
  bool operator==(const TaskProgress&) const = default;
};
std::string encode_progress(const TaskProgress& progress);
Result<TaskProgress> decode_progress(std::string_view bytes);

// --- results -----------------------------------------------------------------------------------

// Of a task that finished. Lines and bytes.
struct TaskResult {
  int64_t records_in = 0;
  int64_t bytes_in = 0;
  int64_t records_out = 0;
  int64_t bytes_out = 0;
  // Of the agent's files; of a map task: host:port, the path of a socket, or "agent/NAME", which
  // reducers ask their own agents for.
  std::string http_address = {};
  Counters counters = {};
  bool operator==(const TaskResult&) const = default;
};

// A map task, and the attempt whose output counts.
struct MapAttempt {
  uint32_t number = 0;
  uint32_t attempt = 0;
  auto operator<=>(const MapAttempt&) const = default;
};
// More than these need not be told at once: when they are back, the reduce tells the next.
inline constexpr size_t kFetchFailedMax = 1'000;

// What another attempt can mend.
enum class Blame : uint8_t {
  kAttempt,  // it may go better elsewhere, or later
  kCommand,  // the command itself is wrong, unless it has done its work for another task
  kInput,    // each attempt at this input fails
  kJob,      // what was submitted with the job is gone or was changed: no retry of the job mends it
};
inline constexpr uint64_t kBlameCount = 4;

// Of a task that failed.
struct TaskFailure {
  Blame blame = Blame::kAttempt;
  std::string stderr_tail = {};               // at most kStderrTailBytesMax
  std::vector<MapAttempt> fetch_failed = {};  // a reduce could not get these: not its fault
  bool operator==(const TaskFailure&) const = default;
};

std::string encode_result(const TaskResult& result);
Result<TaskResult> decode_result(std::string_view bytes);
std::string encode_failure(const TaskFailure& failure);
Result<TaskFailure> decode_failure(std::string_view bytes);

// Numbers of attempts of one element are not larger.
inline constexpr int64_t kElementAttemptMax = 1'000'000'000;

// An attempt of an element that ended with an exit code that is not accepted.
struct ElementFailure {
  uint32_t place = 0;   // in the range
  int32_t attempt = 0;  // of the element, from 1 on
  int32_t code = 0;
  bool operator==(const ElementFailure&) const = default;
};

// Of a range that finished.
inline constexpr uint32_t kRangeElementsMax = 2'000;  // so that this fits into an update
struct RangeResult {
  uint32_t ended = 0;                         // elements from the first one on: each has ended
  uint32_t ran = 0;                           // of them in this task
  int64_t micros = 0;                         // that those took
  std::vector<ElementFailure> failures = {};  // by rising place
  std::string stderr_tail = {};               // of the first failure
  // Why it could not go on, in the system's words.
  std::string trouble = {};
  // The end of the last one that ended could not be kept: it is one of the failures, whatever its
  // exit code, and its result cannot be found.
  bool lost_last = false;
  bool operator==(const RangeResult&) const = default;
};
inline constexpr size_t kElementStderrBytesMax = 1'024;
inline constexpr size_t kRangeTroubleBytesMax = 512;

// Of a plan task that finished: what its job has to do.
struct PlanResult {
  int64_t maps = 0;         // map tasks
  int64_t elements = 0;     // of an array, if these were not known before
  int64_t input_bytes = 0;  // that the map tasks read together
  Locality locality = {};   // of the map tasks
  bool operator==(const PlanResult&) const = default;
};

// An update carries no more (kUpdateDataBytesMax).
inline constexpr size_t kPlanResultBytesMax = 15 * 1024;
std::string encode_plan_result(const PlanResult& result);
Result<PlanResult> decode_plan_result(std::string_view bytes);

std::string encode_range_result(const RangeResult& result);
Result<RangeResult> decode_range_result(std::string_view bytes);

// --- results of elements -----------------------------------------------------------------------

// How one attempt of an element ended, and where its output is. A *lane* is a triple of files that
// one task at a time appends to, in the job's output directory:
//
//   OUTPUT/stdout-00003              what elements wrote
//   OUTPUT/stderr-00003
//   OUTPUT/_temporary/index-00003    an ElementEnd for each; the last task makes OUTPUT/index.tsv
struct ElementEnd {
  uint32_t position = 0;
  uint32_t attempt = 0;  // from 1 on
  int32_t code = 0;      // as a shell tells it
  int64_t stdout_offset = 0;
  int64_t stdout_length = 0;
  int64_t stderr_offset = 0;
  int64_t stderr_length = 0;
  int64_t micros = 0;
  bool operator==(const ElementEnd&) const = default;
};
inline constexpr size_t kElementEndBytes = 64;
// Stands behind the ends of a task that has left its lane tidy: another may go on there.
inline constexpr uint32_t kTidyMark = UINT32_MAX;  // as a position

std::string encode_element_end(const ElementEnd& end);
// Errors: kCorruption if it is not whole, was changed, or its numbers cannot be.
Result<ElementEnd> decode_element_end(std::string_view bytes);

enum class LaneFile : uint8_t { kStdout, kStderr, kIndex };
std::string lane_path(std::string_view output, LaneFile file, uint32_t lane);
// The lane of an index, by the name of its file.
std::optional<uint32_t> parse_lane_index(std::string_view file_name);

// --- map.index ---------------------------------------------------------------------------------

// Where in map.out a partition lies. The index file is one fixed-size entry for each partition, so
// that a reducer fetches its own by Range.
struct IndexEntry {
  int64_t offset = 0;
  int64_t length = 0;
  int64_t records = 0;
  uint64_t checksum = 0;   // Fnv1a64 of the bytes
  bool is_packed = false;  // the bytes are blocks (shuffle.h), else lines
  bool operator==(const IndexEntry&) const = default;
};
inline constexpr size_t kIndexEntryBytes = 40;

std::string encode_index_entry(const IndexEntry& entry);
// Errors: kCorruption if it is not whole, was changed, or its numbers cannot be.
Result<IndexEntry> decode_index_entry(std::string_view bytes);

}  // namespace proffer::batch
