#pragma once

// Makes records of a log's file of the lines of its events: what a master that stands by keeps of
// what it was sent. Inside of proto/json only.

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "proto/event_block.h"

namespace proffer::proto {

class LinePacker {
 public:
  // The next event. An EventLineReader reads the same line from the records: from a block, or from
  // a line if no block would give it back to the byte. `plain`: what read_plain_line() has read of
  // it, which is used up; nullptr: the line is not plain. O(bytes).
  void add(std::string_view line, BlockEvent* plain);
  // The packer is done then.
  std::vector<std::string> take();

 private:
  bool take_owner(BlockEvent& event);
  bool is_block_over(const BlockEvent* event) const;
  std::string_view named(std::string_view text);

  std::vector<std::string> records_ = {};
  std::unordered_set<std::string> names_ = {};  // those in `block_` are of here
  EventOwners owners_ = {};                     // as the events so far say
  EventBlockWriter block_ = {};
  EventPlace next_ = {};  // behind the last event in `block_`
};

}  // namespace proffer::proto
