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
  kMap,         //
  kReduce,      //
  kCommitting,  // all parts are there
  kRemoving,    // it has failed or was cancelled, and its output is being removed
  kFinished,    // from here on it has ended
  kFailed,
  kCancelled,
};
inline constexpr size_t kBatchPhaseCount = 8;
// Priorities of jobs are from -100 to 100.
inline constexpr int64_t kBatchPriorityMax = 100;
std::string_view to_text(BatchPhase phase);  // "queued", "map", …
std::optional<BatchPhase> parse_batch_phase(std::string_view text);
constexpr bool has_ended(BatchPhase phase) { return phase >= BatchPhase::kFinished; }

struct BatchStage {
  int64_t total = 0;
  int64_t done = 0;
  int64_t running = 0;
  int64_t failed = 0;      // attempts that failed so far
  int64_t recomputed = 0;  // tasks whose output was lost
  int64_t records_in = 0;  // these four of the tasks that are done
  int64_t bytes_in = 0;
  int64_t records_out = 0;
  int64_t bytes_out = 0;
  std::optional<Duration> cpu = {};  // of attempts that have ended, as far as it was counted
  std::optional<Duration> eta = {};  // of this stage, once it can be told
  bool operator==(const BatchStage&) const = default;
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
  int64_t input_bytes = 0;  // of all splits
  Time submitted_at = {};
  Time started_at = {};   // zero until it is
  Time ended_at = {};     // zero until it has
  Time retry_until = {};  // a retry goes on with what it had done; zero: nothing of it is kept
  // Shown to its owner and to operators only:
  std::string output = {};
  std::string note = {};   // what went wrong last, or what it waits for
  std::string error = {};  // why it failed or was cancelled
  std::string hint = {};
  std::string failed_task = {};  // the attempt that failed last

  bool operator==(const BatchJob&) const = default;
};

}  // namespace proffer::proto
