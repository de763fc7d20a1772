#pragma once

// A line of a daemon's log in JSON. The rules of json.h apply.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/time.h"
#include "common/trace.h"

namespace proffer::proto {

// The members of every line.
struct LogLine {
  Time at = {};
  std::string_view program = {};
  int64_t pid = 0;
};

// {"time_s","level","program","pid","message","source"}
std::string log_line_json(const LogLine& line, std::string_view level, std::string_view message,
                          std::string_view source);
// {"time_s","level","program","pid","message", the fields of the event, and "left_out" if it is not
// zero}. `message` is the event in words. A field whose name is one of the first five is called
// field_NAME.
std::string log_line_json(const LogLine& line, const TraceEvent& event, uint64_t left_out);

}  // namespace proffer::proto
