#pragma once

// Pictures of the batch framework as plain values. proto/json prints them; the CLI reads them.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/messages.h"

namespace proffer::proto {

enum class BatchPhase : uint8_t {
  kQueued,      // others are before it
  kMap,         // or the elements of an array
  kReduce,      //
  kCommitting,  // all parts are there
  kRemoving,    // it has failed or was cancelled, and its output is being removed
  kFinished,    // from here on it has ended
  kFailed,
  kCancelled,
  kSkipped,   // what it waited for can never be; it has not begun
  kWaiting,   // for other jobs; from here on it has not ended
  kPlanning,  // its first task looks what there is to read
};
inline constexpr size_t kBatchPhaseCount = 11;
// Priorities of jobs are from -100 to 100.
inline constexpr int64_t kBatchPriorityMax = 100;
std::string_view to_text(BatchPhase phase);  // "queued", "map", …
std::optional<BatchPhase> parse_batch_phase(std::string_view text);
constexpr bool has_ended(BatchPhase phase) {
  return phase >= BatchPhase::kFinished && phase <= BatchPhase::kSkipped;
}

struct BatchStage {
  int64_t total = 0;
  int64_t done = 0;
  int64_t running = 0;
  int64_t copies = 0;      // of those that run: twice, since the first attempt is slow
  int64_t failed = 0;      // attempts that failed so far
  int64_t recomputed = 0;  // tasks whose output was lost
  int64_t near = 0;        // of those that are done and preferred hosts: on one of these
  int64_t far = 0;         // the others of them
  int64_t records_in = 0;  // these four of the tasks that are done
  int64_t bytes_in = 0;
  int64_t records_out = 0;
  int64_t bytes_out = 0;
  std::optional<Duration> cpu = {};  // of attempts that have ended, as far as it was counted
  std::optional<Duration> eta = {};  // of this stage, once it can be told
  bool operator==(const BatchStage&) const = default;
};

// Of an array.
struct BatchElements {
  int64_t total = 0;
  int64_t done = 0;             // ended with an exit code that is accepted
  int64_t failed = 0;           // ended otherwise, and are not tried again
  int64_t running = 0;          // in tasks that run, with those that wait there for their turn
  int64_t tasks = 0;            // that run now
  int64_t failed_attempts = 0;  // of elements, so far
  int64_t waiting = 0;          // for elements of another array
  int64_t skipped = 0;          // since the element that they waited for will not be done
  int64_t bytes_out = 0;        // that they wrote to standard output, once the job has ended
  std::optional<Duration> eta = {};
  bool operator==(const BatchElements&) const = default;
};

// What a job waits for, or has waited for.
struct BatchDependency {
  std::string job = {};
  std::string on = {};    // "finished", "failed" or "ended"
  std::string fate = {};  // "open", "met" or "never"
  bool operator==(const BatchDependency&) const = default;
};

// What tasks counted of themselves, of one stage or job.
struct BatchCounter {
  std::string group = {};
  std::string name = {};
  int64_t amount = 0;
  bool operator==(const BatchCounter&) const = default;
};

struct BatchJob {
  std::string job = {};
  std::string owner = {};
  RoleName role = {};  // that is charged
  int64_t priority = 0;
  BatchPhase phase = BatchPhase::kQueued;
  FrameworkId framework = {};  // that runs it
  BatchStage map = {};
  BatchStage reduce = {};
  std::optional<BatchElements> array = {};  // in place of map and reduce
  int64_t input_bytes = 0;                  // of all splits
  int64_t retries = 0;                      // that a job which has not ended has had
  std::string pipeline = {};                // whose stage it is; empty: of none
  std::string stage = {};
  std::vector<BatchDependency> after = {};
  Time submitted_at = {};
  Time started_at = {};   // zero until it is
  Time ended_at = {};     // zero until it has
  Time retry_until = {};  // a retry goes on with what it had done; zero: nothing of it is kept
  std::vector<std::string> avoided_agents = {};  // for a time: its tasks failed there
  // Shown to its owner and to operators only:
  std::vector<BatchCounter> counters = {};  // by group and name; each task counts once
  std::string task_status = {};             // what a running task said of itself last
  std::string output = {};
  std::string note = {};   // what went wrong last, or what it waits for
  std::string error = {};  // why it failed or was cancelled
  std::string hint = {};
  std::string failed_task = {};  // the attempt that failed last

  bool operator==(const BatchJob&) const = default;
};

}  // namespace proffer::proto
