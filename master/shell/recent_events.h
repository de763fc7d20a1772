#pragma once

// The newest events that are on the disk, in memory, for those that follow.

#include <cstddef>
#include <deque>
#include <string_view>
#include <vector>

#include "proto/events.h"
#include "store/log_batch.h"

namespace proffer::master {

// Lines of events in their order, as one write has put them into the file.
struct EventLines {
  LogBatch lines = {};
  std::vector<proto::EventPlace> places = {};  // of each line
};

class RecentEvents {
 public:
  // Keeps at least so many bytes, if so many came, and at most one write more. 0: none.
  explicit RecentEvents(size_t bytes_max) : bytes_max_(bytes_max) {}

  void add(EventLines&& written);

  bool is_empty() const { return writes_.empty(); }
  // Of the newest. Not if it is empty.
  const proto::EventPlace& last() const { return writes_.back().places.back(); }
  // Whether all that is written from `from` on is here.
  bool has(const proto::EventPlace& from) const;

  // Calls take(line, place) for each from `from` on, until it says false. O(log of all + lines
  // from there): thousands of readers wait at the end.
  template <class Take>
  void each_from(const proto::EventPlace& from, Take&& take) const {
    for (auto written = first_with(from); written != writes_.end(); ++written) {
      for (size_t i = first_from(*written, from); i < written->places.size(); ++i) {
        if (!take(written->lines.record(i), written->places[i])) return;
      }
    }
  }

 private:
  // The first write that has a place from `from` on.
  std::deque<EventLines>::const_iterator first_with(const proto::EventPlace& from) const;
  static size_t first_from(const EventLines& written, const proto::EventPlace& from);

  const size_t bytes_max_;
  std::deque<EventLines> writes_ = {};  // none is empty
  size_t bytes_ = 0;
};

}  // namespace proffer::master
