#pragma once

// The newest events that are on the disk, in memory, for those that follow: as the blocks that were
// written, and the lines of those blocks that somebody has read.

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
  // Keeps at least so many bytes of blocks, if so many came, and at most one block more. The
  // lines of full ones are about four times as long. 0: none.
  explicit RecentEvents(size_t bytes_max) : bytes_max_(bytes_max) {}

  // `lines` are those of all the blocks, or nothing: then they are made when somebody reads them.
  void add(std::vector<std::string>&& blocks, std::vector<proto::EventLines>&& lines = {});

  bool is_empty() const { return blocks_.empty(); }
  // Of the newest. Not if it is empty.
  const proto::EventPlace& last() const { return blocks_.back().last; }
  // Whether all that is written from `from` on is here.
  bool has(const proto::EventPlace& from) const;
  // Whether the newest block has been read: then the next one will be, too.
  bool is_followed() const { return !blocks_.empty() && blocks_.back().lines.has_value(); }

  // Calls take(line, place) for each from `from` on, until it says false. O(log of all + lines
  // from there): thousands of readers wait at the end.
  template <class Take>
  void each_from(const proto::EventPlace& from, Take&& take) const {
    for (auto block = first_with(from); block != blocks_.end(); ++block) {
      const proto::EventLines& lines = block->read();
      proto::EventPlace place = block->first;
      size_t i = 0;
      if (from > place) {  // In the same block, so of the same leader.
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
  // The first that has a place from `from` on.
  std::deque<Block>::const_iterator first_with(const proto::EventPlace& from) const;

  const size_t bytes_max_;
  std::deque<Block> blocks_ = {};
  size_t bytes_ = 0;
};

}  // namespace proffer::master
