#pragma once

// Makes records of a log file from the lines of its events, for a standby that stores the events of
// the leader. For proto/json only.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "proto/event_block.h"

namespace proffer::proto {

class LinePacker {
 public:
  // Adds the next event. An EventLineReader reads the same line from the records: from a block, or
  // from the line itself if a block could not reproduce it byte for byte. `plain` is the result of
  // read_plain_line() for the line, and is changed; nullptr: the line is not plain. O(bytes).
  void add(std::string_view line, BlockEvent* plain);
  // Returns the records. The packer must not be used afterwards.
  std::vector<std::string> take();

 private:
  void take_owner(BlockEvent& event, std::string_view framework);
  bool is_block_over(const BlockEvent* event) const;
  std::string_view named(std::string_view text);

  std::vector<std::string> records_ = {};
  std::set<std::string, std::less<>> names_ = {};  // owns the names to which `block_` points
  EventOwners owners_ = {};                        // from the events so far
  EventBlockWriter block_ = {};
  EventPlace next_ = {};  // the place after the last event in `block_`
};

}  // namespace proffer::proto
