#pragma once

// OUTPUT/index.tsv of an array that has ended: a line for each element that has, in the order of
// the elements, with fields between TABs:
//
//   index  attempt  exit  seconds  lane  stdout_offset  stdout_length  stderr_offset  stderr_length
//
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
  ElementEnd end = {};  // without its position; its time in milliseconds
  bool operator==(const ElementResult&) const = default;
};

// With their newlines.
std::string results_header();
std::string results_line(uint32_t index, uint32_t lane, const ElementEnd& end);
// Nothing for the header. Errors: kCorruption.
Result<std::optional<ElementResult>> parse_results_line(std::string_view line);

}  // namespace proffer::batch
