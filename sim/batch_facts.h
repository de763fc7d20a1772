#pragma once

// Facts that the jobs of the workload (batch_workload.cc) and the scripts of their tasks
// (batch_script.cc) share: the content of plans, and the results of attempts.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/text.h"
#include "frameworks/batch/core/fnv.h"

namespace proffer::sim {

// Each reducer gets some of a map task's records.
inline constexpr int64_t kRecordBytes = 100;
// The number of bytes that a map task reads.
inline int64_t split_bytes(const std::string& plan, uint32_t number) {
  batch::Fnv1a64 hash;
  hash.add(text(plan, " ", number));
  return static_cast<int64_t>(hash.value() % 1'000 + 1) * kRecordBytes;
}

// Equal attempts have equal results.
inline int32_t exit_code(const std::string& plan, uint32_t position, uint32_t attempt) {
  batch::Fnv1a64 hash;
  hash.add(text(plan, " ", position, " ", attempt));
  return hash.value() % 5 == 0 ? 75 : 0;
}

// The number of map tasks in a plan, and the bytes that they read.
inline int64_t plan_maps(const std::string& plan) {
  batch::Fnv1a64 hash;
  hash.add(plan);
  return static_cast<int64_t>(hash.value() % 5 + 1);
}
inline int64_t plan_bytes(const std::string& plan) {
  int64_t bytes = 0;
  for (uint32_t map = 0; map < plan_maps(plan); ++map) bytes += split_bytes(plan, map);
  return bytes;
}

// Mappers of stages that fail, always or in half of the lives of the scheduler. Each retry is a
// life.
inline constexpr std::string_view kFails = "fails";
inline constexpr std::string_view kFlaky = "flaky";

}  // namespace proffer::sim
