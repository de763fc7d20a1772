#pragma once

// Writes a core's trace as log lines (glog), and counts events by kind. Both use the same events,
// so they cannot disagree.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/result.h"
#include "common/trace.h"

namespace proffer {

// The event that this thread is writing to the log. For glog sinks, which are called meanwhile.
struct LoggedEvent {
  const TraceEvent* event = nullptr;  // nullptr: none
  uint64_t left_out = 0;              // events of this kind that were left out before it
};
LoggedEvent event_being_logged();

class TraceLog {
 public:
  // Logs by level and counts. Warnings that peers can cause are limited to ten per event, user and
  // second; the next one states how many were left out.
  void write(const std::vector<TraceEvent>& events, int64_t now_s);

  const std::map<std::string_view, uint64_t>& counts() const { return counts_; }

 private:
  struct Limit {
    int64_t second = 0;
    uint64_t in_second = 0;
    uint64_t left_out = 0;
  };
  void warn(const TraceEvent& event, int64_t now_s);

  std::map<std::string_view, uint64_t> counts_;
  std::map<std::pair<std::string_view, std::string>, Limit> limits_;  // by event and user
};

// Writes `bytes` to `path` with a temporary file and a rename: readers see the old or the new file.
// Errors: kUnavailable with the path and the reason.
Result<void> write_file_atomically(const std::string& path, std::string_view bytes,
                                   mode_t mode = 0644);

}  // namespace proffer
