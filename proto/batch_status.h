#pragma once

// The status of the batch framework as plain values. proto/json prints them; the CLI reads them.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/messages.h"

namespace proffer::proto {

enum class BatchPhase : uint8_t {
  kQueued,      // other jobs are before it
  kMap,         // also: the elements of an array run
  kReduce,      //
  kCommitting,  // all parts exist
  kRemoving,    // it has failed or was cancelled, and its output is being removed
  kFinished,    // phases from here to kSkipped have ended
  kFailed,
  kCancelled,
  kSkipped,   // a condition that it waited for will never be met; it has not begun
  kWaiting,   // waits for other jobs; phases from here on have not ended
  kPlanning,  // its first task makes the plan
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
  int64_t copies = 0;      // running tasks with a second attempt, because the first is slow
  int64_t failed = 0;      // attempts that have failed so far
  int64_t recomputed = 0;  // tasks that ran again because their output was lost
  int64_t near = 0;        // done tasks with preferred hosts that ran on one of these
  int64_t far = 0;         // done tasks with preferred hosts that ran elsewhere
  int64_t records_in = 0;  // these four are sums over the tasks that are done
  int64_t bytes_in = 0;
  int64_t records_out = 0;
  int64_t bytes_out = 0;
  std::optional<Duration> cpu = {};  // of ended attempts, where it was counted
  std::optional<Duration> eta = {};  // time until the stage ends, if it can be estimated
  bool operator==(const BatchStage&) const = default;
};

// The elements of an array.
struct BatchElements {
  int64_t total = 0;
  int64_t done = 0;             // ended with an accepted exit code
  int64_t failed = 0;           // ended otherwise, and are not retried
  int64_t running = 0;          // in running tasks, including those not yet begun
  int64_t tasks = 0;            // tasks that run now
  int64_t failed_attempts = 0;  // failed attempts of elements, so far
  int64_t waiting = 0;          // wait for elements of another array
  int64_t skipped = 0;          // an element that they waited for will never be done
  int64_t bytes_out = 0;        // written to standard output; set when the job has ended
  std::optional<Duration> eta = {};
  bool operator==(const BatchElements&) const = default;
};

// A condition that a job waits for, or has waited for.
struct BatchDependency {
  std::string job = {};
  std::string on = {};    // "finished", "failed" or "ended"
  std::string fate = {};  // "open", "met" or "never"
  bool operator==(const BatchDependency&) const = default;
};

// A counter that tasks report, summed over a stage or a job.
struct BatchCounter {
  std::string group = {};
  std::string name = {};
  int64_t amount = 0;
  bool operator==(const BatchCounter&) const = default;
};

struct BatchJob {
  std::string job = {};
  std::string owner = {};
  RoleName role = {};  // the role that is charged
  int64_t priority = 0;
  BatchPhase phase = BatchPhase::kQueued;
  FrameworkId framework = {};  // the framework that runs it
  BatchStage map = {};
  BatchStage reduce = {};
  std::optional<BatchElements> array = {};  // in place of map and reduce
  int64_t input_bytes = 0;                  // of all splits
  int64_t retries = 0;                      // retries so far, of a job that has not ended
  std::string pipeline = {};                // the pipeline that it is a stage of; empty: none
  std::string stage = {};
  std::vector<BatchDependency> after = {};
  Time submitted_at = {};
  Time started_at = {};   // zero before the start
  Time ended_at = {};     // zero before the end
  Time retry_until = {};  // a retry before this time keeps its finished work; zero: no work is kept
  std::vector<std::string> avoided_agents = {};  // for a time: its tasks failed there
  // Shown only to its owner and to operators:
  std::vector<BatchCounter> counters = {};  // by group and name; each task counts once
  std::string task_status = {};             // the last status that a running task reported
  std::string output = {};
  std::string note = {};   // the last problem, or what the job waits for
  std::string error = {};  // the reason why it failed or was cancelled
  std::string hint = {};
  std::string failed_task = {};  // the last attempt that failed

  bool operator==(const BatchJob&) const = default;
};

}  // namespace proffer::proto
