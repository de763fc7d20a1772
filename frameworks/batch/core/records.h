#pragma once

// The records of a batch scheduler in its store, as bytes:
//
//   scheduler               SchedulerRecord
//   orders/<job>            OrderRecord, of each job that has not ended
//   states/<job>            StateRecord, from its start on
//   waits/<job>             Waiting (waiting.h), of a job that waits for others, or is a stage
//   maps/<job>/<block>      BlockRecord: the map tasks of one block that are done or have failed
//   reduces/<job>/<block>   the same of reduce tasks
//   elements/<job>/<block>  ElementsRecord, of an array: the elements of one block
//   ended/<job>             EndedRecord, once it has ended; in place of all others, unless the job
//                           can be retried
//
// Running tasks are not stored, since the cluster reports them again.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/batch/core/order.h"
#include "proto/batch_status.h"

namespace proffer::batch {

// Tasks of one block share a record, which is written again when one of them changes.
inline constexpr uint32_t kBlockTasks = 256;
// The room in the store for one task of a block, without the names of agents.
inline constexpr size_t kTaskRecordBytes = 40;
inline constexpr size_t kEndedErrorBytesMax = 2 * 1024;

struct SchedulerRecord {
  uint32_t lives = 0;  // lives so far; they number the attempts of tasks
  uint64_t jobs = 0;   // jobs that were ever submitted, which is the last one's number
  bool operator==(const SchedulerRecord&) const = default;
};

struct OrderRecord {
  JobOrder order = {};
  std::string owner = {};  // the user that its tasks run as, or that only submitted it
  uint64_t number = 0;     // number of the job
  Time submitted_at = {};
  bool operator==(const OrderRecord&) const = default;
};

// The outcome of a job: decided before its last task begins, and before it is reported.
struct Outcome {
  proto::BatchPhase phase = proto::BatchPhase::kFinished;  // a phase in which a job has ended
  std::string error = {};                                  // reason, for people; empty if finished
  std::string hint = {};
  std::string failed_task = {};  // the attempt that ended the job
  bool is_kept = false;          // the finished work is kept for a retry, not removed
  bool operator==(const Outcome&) const = default;
};

struct StateRecord {
  Time started_at = {};
  uint32_t retries = 0;  // retries so far
  std::optional<Outcome> outcome = {};
  bool operator==(const StateRecord&) const = default;
};

struct TaskRecord {
  uint32_t winner = 0;       // the attempt that finished; 0: none
  int32_t failures = 0;      // attempts that failed by their own fault
  uint32_t last_failed = 0;  // the highest of these attempts; 0 in records of earlier versions
  Duration cpu = {};         // CPU time of its attempts, in milliseconds
  AgentId agent = {};        // these two are of the winner
  TaskResult result = {};    // without its counters
  bool is_counted = false;   // its counters are in the sum of its block
  bool operator==(const TaskRecord&) const = default;
};
struct BlockRecord {
  std::map<uint32_t, TaskRecord> tasks = {};  // by number
  Counters counters = {};                     // the sum over the counted tasks
  bool operator==(const BlockRecord&) const = default;
};

// Elements of one block share a record, as tasks do.
inline constexpr uint32_t kBlockElements = 8'192;
// The room in the store for one element, with and without retries.
inline constexpr size_t kBitsPerElement = 2;
inline constexpr size_t kRetriedElementBytes = 4;
inline constexpr size_t kRequeuedElementBytes = 8;

// The states of the elements of one block; bit i is the element `kBlockElements * block + i`.
struct ElementsRecord {
  std::vector<bool> done = {};                // for all elements of the block
  std::vector<bool> failed = {};              // permanently
  std::map<uint32_t, int32_t> failures = {};  // attempts so far, of open elements
  std::map<uint32_t, int32_t> requeues = {};  // of these, those that were no failures
  int64_t failed_attempts = 0;                // of all elements, in all retries of the job
  uint32_t last_failed = 0;                   // for a gang, the last attempt that failed
  uint32_t retries = 0;  // of the job: `failed` and `failures` count since the last
  bool operator==(const ElementsRecord&) const = default;
};

struct EndedRecord {
  proto::BatchJob job = {};  // the status for its owner, without the time for a retry
  bool operator==(const EndedRecord&) const = default;
};

inline constexpr std::string_view kSchedulerKey = "scheduler";
inline constexpr std::string_view kOrdersPrefix = "orders/";
inline constexpr std::string_view kStatesPrefix = "states/";
inline constexpr std::string_view kWaitsPrefix = "waits/";
inline constexpr std::string_view kMapsPrefix = "maps/";
inline constexpr std::string_view kReducesPrefix = "reduces/";
inline constexpr std::string_view kElementsPrefix = "elements/";
inline constexpr std::string_view kEndedPrefix = "ended/";
std::string order_key(const JobId& job);
std::string state_key(const JobId& job);
std::string waits_key(const JobId& job);
std::string block_key(const JobId& job, TaskKind kind, uint32_t block);
// The block that the end of this task changes.
uint32_t block_of(const TaskName& name);
// The keys of all blocks that a job of this order can have.
std::vector<std::string> block_keys(const JobId& job, const JobOrder& order);
std::string ended_key(const JobId& job);

std::string encode(const SchedulerRecord& record);
std::string encode(const OrderRecord& record);
std::string encode(const StateRecord& record);
std::string encode(const BlockRecord& record);
std::string encode(const ElementsRecord& record);
std::string encode(const EndedRecord& record);
// The inverse. Errors: kCorruption, for any bytes that encode() does not make.
Result<SchedulerRecord> decode_scheduler(std::string_view bytes);
Result<OrderRecord> decode_order_record(std::string_view bytes);
Result<StateRecord> decode_state(std::string_view bytes);
Result<BlockRecord> decode_block(std::string_view bytes);
Result<ElementsRecord> decode_elements(std::string_view bytes);
Result<EndedRecord> decode_ended(std::string_view bytes);

}  // namespace proffer::batch
