#pragma once

// Lines of the event log that are plain: as event_lines.h prints them, with no escapes in their
// texts, and nothing else unusual. So are nearly all. Inside of proto/json only.

#include <string_view>

#include "proto/event_block.h"

namespace proffer::proto {

// Reads `line` into `event`, whose texts lie in the line. A user and a role at the end are fields
// like the others. Printed, the event is the same line again. Every line that is taken here is
// taken by the library's parser, too, which needs ten times as long. False: the line is not plain,
// or no event; then `event` may be anything.
bool read_plain_line(std::string_view line, BlockEvent& event);

}  // namespace proffer::proto
