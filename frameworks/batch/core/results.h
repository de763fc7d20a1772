#pragma once

// OUTPUT/index.tsv of an ended array: a line for each ended element, in the order of the elements,
// with fields separated by TABs:
//
//   index  attempt  exit  result  seconds  lane  stdout_offset  stdout_length  stderr_offset
//   stderr_length
//
// The result is "done" if the exit code is an accepted one, else "failed". Its output is in
// OUTPUT/stdout-<lane> and OUTPUT/stderr-<lane> (lane_path in work.h).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/batch/core/array.h"
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

// An end that a task has stored, and its lane.
struct KeptEnd {
  uint32_t lane = 0;
  ElementEnd end = {};
};
// One end of each element, by position: the first end with an accepted exit code, else the last
// attempt. For a gang the last attempt, which all ranks made together. `ok` rises.
std::vector<KeptEnd> choose_ends(std::vector<KeptEnd> ends, const std::vector<int32_t>& ok,
                                 bool is_gang);
ElementResult result_of(const KeptEnd& kept, const Indices& indices,
                        const std::vector<int32_t>& ok);

// Both include the newline.
std::string results_header();
std::string results_line(const ElementResult& result);
// None for the header. Errors: kCorruption.
Result<std::optional<ElementResult>> parse_results_line(std::string_view line);

}  // namespace proffer::batch
