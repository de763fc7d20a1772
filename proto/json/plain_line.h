#pragma once

// Lines of the event log that are plain: as event_lines.h prints them, with no escapes in their
// texts, and nothing else unusual. So are nearly all. Inside of proto/json only.

#include <string_view>

#include "proto/event_block.h"

namespace proffer::proto {

// Reads `line` into `event`, whose texts lie in the line; a user and a role at its end are fields
// as the others. Printed, the event is the same line again. It takes no line that the library's
// parser refuses, in a tenth of the time. False: the line is not plain, or no event; then `event`
// may be anything.
bool read_plain_line(std::string_view line, BlockEvent& event);

}  // namespace proffer::proto
