#pragma once

// Makes records of a log's file of the lines of its events: what a master that stands by keeps of
// what it was sent. Inside of proto/json only.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "proto/event_block.h"

namespace proffer::proto {

class LinePacker {
 public:
  // The next event. An EventLineReader reads the same line from the records: from a block, or from
  // the line itself if a block could not reproduce it byte for byte. `plain` is what
  // read_plain_line() has read of the line, and is changed; nullptr: the line is not plain.
  // O(bytes).
  void add(std::string_view line, BlockEvent* plain);
  // The packer is done then.
  std::vector<std::string> take();

 private:
  void take_owner(BlockEvent& event, std::string_view framework);
  bool is_block_over(const BlockEvent* event) const;
  std::string_view named(std::string_view text);

  std::vector<std::string> records_ = {};
  std::set<std::string, std::less<>> names_ = {};  // owns the names to which `block_` points
  EventOwners owners_ = {};                        // as the events so far say
  EventBlockWriter block_ = {};
  EventPlace next_ = {};  // behind the last event in `block_`
};

}  // namespace proffer::proto
