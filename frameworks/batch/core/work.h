#pragma once

// The work item of a task for its executor (TaskSpec.data), and the result (TaskStatus.data), as
// values and as bytes. Encodings are length-prefixed with little-endian base-128 numbers. Decoders
// accept any bytes: malformed ones are kCorruption, and allocations stay within a small multiple of
// the length of the input.

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
  kPlan,   // reads the inputs and divides them among the tasks (plan.h)
};
std::string_view to_text(TaskKind kind);  // "map", "reduce", "end", "range", "plan"

struct TaskName {
  JobId job = {};
  TaskKind kind = TaskKind::kMap;
  uint32_t number = 0;  // for a range: ranges launched before in this life
  uint32_t attempt = 0;
  // For a range: the positions of the array that it may run. Each update of the task has them, in
  // the task's id.
  uint32_t first = 0;
  uint32_t count = 0;
  bool operator==(const TaskName&) const = default;
};
// "words-7.map-00007-1", "sweep-8.range-00012-1-400-50", and the reverse.
TaskId to_task_id(const TaskName& name);
std::optional<TaskName> parse_task_id(const TaskId& task);
// "part-00003".
std::string part_name(uint32_t number);

// --- work --------------------------------------------------------------------------------------

// The common part of all work items.
struct WorkCommon {
  std::string job = {};
  std::string command = {};
  std::vector<int32_t> accepts = {};  // exit codes of the command that count as success, like 0
  proto::Environment env = {};
  std::string output = {};  // the directory into which the job's tasks write: plan.h
  std::string plan = {};    // name of the job's plan in it
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
  std::vector<std::string> addresses = {};  // of file servers, as in TaskResult
  std::vector<MapOutput> maps = {};         // by number of the map task
  Shuffle shuffle = {};                     // without its combiner
  bool operator==(const ReduceWork&) const = default;
};

// The last task of a job.
struct EndWork {
  enum class Kind : uint8_t {
    kCommit,    // all parts exist: they are moved to `place`, and _SUCCESS is written
    kSetAside,  // the existing output is moved to `place` for a retry
    kRemove,
  };
  WorkCommon common = {};
  Kind kind = Kind::kCommit;
  std::string place = {};
  uint32_t parts = 0;
  bool operator==(const EndWork&) const = default;
};

// Some elements of an array. The task ends when all are done, or when its time is over and it has
// run at least one; the others are launched again.
struct RangeWork {
  WorkCommon common = {};  // without a command; `maps` is the number of the plan's argument entries
  std::vector<std::string> command = {};
  uint32_t first = 0;    // the position of its first element
  Indices indices = {};  // of its elements
  std::string directory = {};
  std::vector<int32_t> ok = {};
  Duration timeout = {};  // of one element; zero: no limit
  Duration time = {};     // after this time it begins no further element
  // The lane that it tries first. Lanes of other tasks are left to them.
  uint32_t lane = 0;
  // Elements may have ended in tasks that never reported it: these ends count.
  bool looks_back = false;
  // Failures of elements so far, by their place in the range.
  std::map<uint32_t, int32_t> failures = {};

  uint32_t count() const { return count_of(indices); }
  bool operator==(const RangeWork&) const = default;
};

// The last task of an array: makes one index of the results, and removes the rest.
struct GatherWork {
  WorkCommon common = {};
  Indices indices = {};
  std::vector<int32_t> ok = {};
  uint32_t done = 0;     // successful elements: there is an end of each
  bool commits = false;  // write _SUCCESS
  bool is_gang = false;  // the last attempt of each rank counts
  bool keeps = false;    // keep the files that a retry needs
  bool operator==(const GatherWork&) const = default;
};

// The first task of a job that is planned in the cluster. `output` is where the directory waits.
struct PlanWork {
  WorkCommon common = {};
  std::string place = {};  // the directory is moved to this place
  // If `output` does not exist, a copy of this plan is put there first, for a job that a schedule
  // has started; empty for other jobs.
  std::string model = {};
  bool operator==(const PlanWork&) const = default;
};

using Work = std::variant<MapWork, ReduceWork, EndWork, RangeWork, GatherWork, PlanWork>;

std::string encode_work(const Work& work);
Result<Work> decode_work(std::string_view bytes);

// --- progress ----------------------------------------------------------------------------------

// How often the executor of a running map or reduce task reports its progress to the scheduler
// (FrameworkMessage.data). A report may be lost, and is not stored.
inline constexpr Duration kProgressEvery = seconds(5);
inline constexpr int64_t kProgressWhole = 10'000;
struct TaskProgress {
  int64_t done = 0;         // of kProgressWhole
  std::string status = {};  // the last status of its command: ReportLines::status
  bool operator==(const TaskProgress&) const = default;
};
std::string encode_progress(const TaskProgress& progress);
Result<TaskProgress> decode_progress(std::string_view bytes);

// --- results -----------------------------------------------------------------------------------

// The result of a finished task. Lines and bytes.
struct TaskResult {
  int64_t records_in = 0;
  int64_t bytes_in = 0;
  int64_t records_out = 0;
  int64_t bytes_out = 0;
  // Address of the agent's files. For a map task: host:port, the path of a socket, or "agent/NAME",
  // which reducers resolve through their own agents.
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
// The most that one update reports. When these are available again, the reduce reports the next
// ones.
inline constexpr size_t kFetchFailedMax = 1'000;

// The cause of a failure decides whether another attempt can help.
enum class Blame : uint8_t {
  kAttempt,  // another agent or time may help
  kCommand,  // the command is wrong, unless it has succeeded for another task
  kInput,    // each attempt at this input fails
  kJob,      // files submitted with the job are gone or were changed: no retry of the job helps
};
inline constexpr uint64_t kBlameCount = 4;

// The result of a failed task.
struct TaskFailure {
  Blame blame = Blame::kAttempt;
  std::string stderr_tail = {};               // at most kStderrTailBytesMax
  std::vector<MapAttempt> fetch_failed = {};  // a reduce could not fetch these; not its own fault
  bool operator==(const TaskFailure&) const = default;
};

std::string encode_result(const TaskResult& result);
Result<TaskResult> decode_result(std::string_view bytes);
std::string encode_failure(const TaskFailure& failure);
Result<TaskFailure> decode_failure(std::string_view bytes);

// The largest attempt number of an element.
inline constexpr int64_t kElementAttemptMax = 1'000'000'000;

// An attempt of an element that ended with an exit code that is not accepted.
struct ElementFailure {
  uint32_t place = 0;   // place in the range
  int32_t attempt = 0;  // attempt of the element, from 1 on
  int32_t code = 0;
  bool operator==(const ElementFailure&) const = default;
};

// The result of a finished range.
inline constexpr uint32_t kRangeElementsMax = 2'000;  // so that the result fits into an update
struct RangeResult {
  uint32_t ended = 0;                         // the first elements of the range: each has ended
  uint32_t ran = 0;                           // those that ran in this task
  int64_t micros = 0;                         // run time of those
  std::vector<ElementFailure> failures = {};  // by rising place
  std::string stderr_tail = {};               // of the first failure
  // Why it could not continue, in the system's words.
  std::string trouble = {};
  // The end of the last ended element could not be stored: it counts as a failure, whatever its
  // exit code, and its result cannot be found.
  bool lost_last = false;
  bool operator==(const RangeResult&) const = default;
};
inline constexpr size_t kElementStderrBytesMax = 1'024;
inline constexpr size_t kRangeTroubleBytesMax = 512;

// The result of a finished plan task: the size of its job.
struct PlanResult {
  int64_t maps = 0;         // map tasks
  int64_t elements = 0;     // of an array, if not known before
  int64_t input_bytes = 0;  // that the map tasks read in total
  Locality locality = {};   // of the map tasks
  bool operator==(const PlanResult&) const = default;
};

// An update holds at most this much (kUpdateDataBytesMax).
inline constexpr size_t kPlanResultBytesMax = 15 * 1024;
std::string encode_plan_result(const PlanResult& result);
Result<PlanResult> decode_plan_result(std::string_view bytes);

std::string encode_range_result(const RangeResult& result);
Result<RangeResult> decode_range_result(std::string_view bytes);

// --- results of elements -----------------------------------------------------------------------

// The end of one attempt of an element, and the place of its output. A *lane* is three files in the
// job's output directory, to which one task at a time appends:
//
//   OUTPUT/stdout-00003              what elements wrote
//   OUTPUT/stderr-00003
//   OUTPUT/_temporary/index-00003    an ElementEnd for each; the last task makes OUTPUT/index.tsv
struct ElementEnd {
  uint32_t position = 0;
  uint32_t attempt = 0;  // from 1 on
  int32_t code = 0;      // as a shell reports it
  int64_t stdout_offset = 0;
  int64_t stdout_length = 0;
  int64_t stderr_offset = 0;
  int64_t stderr_length = 0;
  int64_t micros = 0;
  bool operator==(const ElementEnd&) const = default;
};
inline constexpr size_t kElementEndBytes = 64;
// Marks the end of a task that has left its lane tidy: another task may continue in the lane.
inline constexpr uint32_t kTidyMark = UINT32_MAX;  // as a position

std::string encode_element_end(const ElementEnd& end);
// Errors: kCorruption if it is not whole, was changed, or its numbers are impossible.
Result<ElementEnd> decode_element_end(std::string_view bytes);

enum class LaneFile : uint8_t { kStdout, kStderr, kIndex };
std::string lane_path(std::string_view output, LaneFile file, uint32_t lane);
// The lane of an index file, from its name.
std::optional<uint32_t> parse_lane_index(std::string_view file_name);

// --- map.index ---------------------------------------------------------------------------------

// The place of a partition in map.out. The index file has one entry of fixed size for each
// partition, so that a reducer can fetch its own by Range.
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
// Errors: kCorruption if it is not whole, was changed, or its numbers are impossible.
Result<IndexEntry> decode_index_entry(std::string_view bytes);

}  // namespace proffer::batch
