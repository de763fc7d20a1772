#pragma once

// What a scheduler tells the executor of one task (TaskSpec.data), and what comes back
// (TaskStatus.data), as values and as bytes. Encodings are length-prefixed with little-endian
// base-128 numbers; decoders take anything: what is not an encoding is kCorruption, nothing
// allocates more than the bytes given can stand for times a small constant.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/result.h"
#include "frameworks/batch/core/job.h"
#include "frameworks/batch/core/splits.h"

namespace proffer::batch {

// What both kinds of task are told.
struct WorkCommon {
  std::string command = {};
  std::map<std::string, std::string> files = {};
  proto::Environment env = {};
  std::string output = {};  // the job's output directory
  uint32_t number = 0;      // of the map or reduce task
  uint32_t attempt = 0;
  bool operator==(const WorkCommon&) const = default;
};

struct MapWork {
  WorkCommon common = {};
  uint32_t reducers = 0;  // 0: the output is a part of the result
  Split split = {};
  bool operator==(const MapWork&) const = default;
};

// The winning attempt of one map task. Its output is at
// <address>/v1/files/<framework>/<map_task_id(number, attempt)>/map.out.
struct MapOutput {
  uint32_t agent = 0;  // index into ReduceWork::addresses
  uint32_t attempt = 0;
  bool operator==(const MapOutput&) const = default;
};

struct ReduceWork {
  WorkCommon common = {};
  std::vector<std::string> addresses = {};  // of the agents' files, as in TaskResult
  std::vector<MapOutput> maps = {};         // by number of the map task
  bool operator==(const ReduceWork&) const = default;
};

using Work = std::variant<MapWork, ReduceWork>;

std::string encode_work(const Work& work);
Result<Work> decode_work(std::string_view bytes);

// "map-00007-1", "reduce-00003-2".
std::string map_task_id(uint32_t number, uint32_t attempt);
std::string reduce_task_id(uint32_t number, uint32_t attempt);
// "part-00003".
std::string part_name(uint32_t number);

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
  bool operator==(const TaskResult&) const = default;
};

// Which attempt's output of which map task.
struct MapAttempt {
  uint32_t number = 0;
  uint32_t attempt = 0;
  auto operator<=>(const MapAttempt&) const = default;
};
// More than these need not be told at once: when they are back, the reduce tells the next.
inline constexpr size_t kFetchFailedMax = 1'000;

// Of a task that failed.
struct TaskFailure {
  std::string stderr_tail = {};               // at most kStderrTailBytesMax
  std::vector<MapAttempt> fetch_failed = {};  // a reduce could not get these: not its fault
  bool operator==(const TaskFailure&) const = default;
};

std::string encode_result(const TaskResult& result);
Result<TaskResult> decode_result(std::string_view bytes);
std::string encode_failure(const TaskFailure& failure);
Result<TaskFailure> decode_failure(std::string_view bytes);

// --- map.index ---------------------------------------------------------------------------------

// Where in map.out a partition lies. The index file is one fixed-size entry for each partition, so
// that a reducer fetches its own by Range.
struct IndexEntry {
  int64_t offset = 0;
  int64_t length = 0;
  int64_t records = 0;
  uint64_t checksum = 0;  // Fnv1a64 of the bytes
  bool operator==(const IndexEntry&) const = default;
};
inline constexpr size_t kIndexEntryBytes = 40;

std::string encode_index_entry(const IndexEntry& entry);
// Errors: kCorruption if it is not whole, was changed, or its numbers cannot be.
Result<IndexEntry> decode_index_entry(std::string_view bytes);

}  // namespace proffer::batch
