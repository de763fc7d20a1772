#pragma once

// Lines of the event log as records of its file: what a master that stands by keeps of the events
// that it was sent.

#include <string>
#include <vector>

namespace proffer::proto {

// Blocks of the lines, and those lines that no block gives back to the byte, which have escapes
// for instance. An EventLineReader reads the same lines in the same order from the records. Each
// line is an event, behind the one before. O(bytes).
std::vector<std::string> packed_lines(const std::vector<std::string>& lines);

}  // namespace proffer::proto
