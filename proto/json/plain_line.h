#pragma once

// Plain lines of the event log: they are as event_lines.h prints them, without escapes in their
// texts. Nearly all lines are plain. For proto/json only.

#include <string_view>

#include "proto/event_block.h"

namespace proffer::proto {

// Reads `line` into `event`, whose texts point into the line. A user and a role at the end are
// ordinary fields. The event prints as the same line again. The library's parser accepts every line
// that this function accepts, but needs ten times as long. False: the line is not plain, or not an
// event; then `event` is undefined.
bool read_plain_line(std::string_view line, BlockEvent& event);

}  // namespace proffer::proto
