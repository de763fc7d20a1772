#pragma once

// The use of tasks compared with their asks, and the shape that would suffice. Pure; `proffer
// usage` shows it.

#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/resources.h"
#include "common/time.h"
#include "proto/messages.h"

namespace proffer::proto {

// One task, running or ended.
struct TaskSample {
  std::string framework = {};  // its name, or its id
  AskName ask = {};
  ResourceVector asked = {};
  Duration ran = {};
  bool ended = false;
  std::optional<TaskUsage> usage = {};  // so far; none: not counted
};

// Tasks of one framework with the same ask and shape.
struct ShapeUsage {
  std::string framework = {};
  AskName ask = {};
  ResourceVector asked = {};
  int64_t running = 0;
  int64_t ended = 0;
  int64_t counted = 0;  // running and ended tasks with counted use
  // In milli-CPUs over its run time: the mean of all counted tasks, and the highest of one task.
  std::optional<int64_t> cpus_mean = {};
  std::optional<int64_t> cpus_most = {};
  std::optional<int64_t> memory_peak_bytes = {};  // the highest of one task
  int64_t cpu_nanos = 0;                          // sum of all tasks
  int64_t throttled_nanos = 0;
  int64_t out_of_memory = 0;  // number of tasks that ran out of memory
  // The shape in which all of them would have fitted, plus a fifth; none: too little is known.
  std::optional<ResourceVector> advised = {};
  std::string why = {};  // reason for the advice, for people
  bool operator==(const ShapeUsage&) const = default;
};

// Sorted by framework, ask and shape. Tasks that ran for less than a second do not count for CPUs,
// unless there are no others.
std::vector<ShapeUsage> by_shape(const std::vector<TaskSample>& samples);

}  // namespace proffer::proto
