#pragma once

// Use of tasks beside their asks, and the shape that would be enough. Pure; `proffer usage` shows
// it.

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
  std::optional<TaskUsage> usage = {};  // so far; nothing: it was not counted
};

// Tasks of one framework, ask and shape together.
struct ShapeUsage {
  std::string framework = {};
  AskName ask = {};
  ResourceVector asked = {};
  int64_t running = 0;
  int64_t ended = 0;
  int64_t counted = 0;  // of both
  // While it ran, in milli-CPUs: of all counted tasks together, and of the one with the most.
  std::optional<int64_t> cpus_mean = {};
  std::optional<int64_t> cpus_most = {};
  std::optional<int64_t> memory_peak_bytes = {};  // the highest
  int64_t cpu_nanos = 0;                          // of all together
  int64_t throttled_nanos = 0;
  int64_t out_of_memory = 0;  // tasks
  // The shape that all of them would have fitted, with a fifth more; nothing: too little is known.
  std::optional<ResourceVector> advised = {};
  std::string why = {};  // of the advice, for people
  bool operator==(const ShapeUsage&) const = default;
};

// By framework, ask and shape. CPUs are not judged by tasks that ran for less than a second, unless
// there are no others.
std::vector<ShapeUsage> by_shape(const std::vector<TaskSample>& samples);

}  // namespace proffer::proto
