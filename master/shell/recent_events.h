#pragma once

// The newest events that are on the disk, kept in memory for followers: the written blocks, and the
// lines of those blocks that were read.

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/events.h"
#include "proto/json/event_lines.h"

namespace proffer::master {

class RecentEvents {
 public:
  // Keeps at least this many bytes of blocks, and at most one block more. Lines need about four
  // times as much. 0: keeps none.
  explicit RecentEvents(size_t bytes_max) : bytes_max_(bytes_max) {}

  // `lines` belong to the blocks; if empty, they are made when a reader needs them.
  void add(std::vector<std::string>&& blocks, std::vector<proto::EventLines>&& lines = {});

  bool is_empty() const { return blocks_.empty(); }
  // The place of the newest event. Must not be empty.
  const proto::EventPlace& last() const { return blocks_.back().last; }
  // Whether all written events from `from` on are here.
  bool has(const proto::EventPlace& from) const;
  // Whether the newest block was read: then the next one will be read too.
  bool is_followed() const { return !blocks_.empty() && blocks_.back().lines.has_value(); }

  // Calls take(line, place) for each line from `from` on, until it returns false. O(log of all +
  // lines from there), since thousands of readers wait at the end.
  template <class Take>
  void each_from(const proto::EventPlace& from, Take&& take) const {
    for (auto block = first_with(from); block != blocks_.end(); ++block) {
      const proto::EventLines& lines = block->read();
      proto::EventPlace place = block->first;
      size_t i = 0;
      if (from > place) {  // in the same block, so of the same leader
        i = from.number - place.number;
        place.number = from.number;
      }
      for (; i < lines.size(); ++i, ++place.number) {
        if (!take(lines.line(i), place)) return;
      }
    }
  }

 private:
  struct Block {
    std::string bytes;
    proto::EventPlace first;
    proto::EventPlace last;
    mutable std::optional<proto::EventLines> lines = {};

    const proto::EventLines& read() const {
      if (!lines) lines.emplace(bytes);
      return *lines;
    }
  };
  // The first block with a place at or after `from`.
  std::deque<Block>::const_iterator first_with(const proto::EventPlace& from) const;

  const size_t bytes_max_;
  std::deque<Block> blocks_ = {};
  size_t bytes_ = 0;
};

}  // namespace proffer::master
