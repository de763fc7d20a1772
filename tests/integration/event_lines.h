#pragma once

// Output of `proffer events --json`, one event per line.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "common/text.h"
#include "proto/json/event_lines.h"

namespace proffer::test {

// The number of times that `part` occurs in `lines`.
inline size_t count(std::string_view lines, std::string_view part) {
  size_t found = 0;
  for (size_t at = lines.find(part); at != lines.npos; at = lines.find(part, at + 1)) ++found;
  return found;
}

// The first line that is not an event, or whose place is not after that of the line before; empty
// if there is none.
inline std::string event_out_of_order(std::string_view lines) {
  std::optional<proto::EventPlace> last;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    const std::optional<proto::EventPlace> place = proto::place_of(line);
    if (!place || (last && *place <= *last)) return quoted(line);
    last = place;
  }
  return {};
}

}  // namespace proffer::test
