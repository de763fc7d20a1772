#pragma once

// OUTPUT/index.tsv of an array that has ended: a line for each element that has, in the order of
// the elements, with fields between TABs:
//
//   index  attempt  exit  result  seconds  lane  stdout_offset  stdout_length  stderr_offset
//   stderr_length
//
// The result is "done" if the exit code is an accepted one, else "failed".
// Its output lies in OUTPUT/stdout-<lane> and OUTPUT/stderr-<lane> (lane_path in work.h).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "frameworks/batch/core/work.h"

namespace proffer::batch {

std::string results_path(std::string_view output);

struct ElementResult {
  uint32_t index = 0;
  uint32_t lane = 0;
  bool is_done = false;
  ElementEnd end = {};  // without its position; its time in milliseconds
  bool operator==(const ElementResult&) const = default;
};

// With their newlines.
std::string results_header();
std::string results_line(const ElementResult& result);
// Nothing for the header. Errors: kCorruption.
Result<std::optional<ElementResult>> parse_results_line(std::string_view line);

}  // namespace proffer::batch
