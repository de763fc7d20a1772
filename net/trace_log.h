#pragma once

// What daemons do with a core's trace: log lines (glog), and one counter for each kind of event.
// They come from the same events, so they cannot disagree.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/result.h"
#include "common/trace.h"

namespace proffer {

// What this thread writes to the log at the moment. For sinks of glog, which are called meanwhile.
struct LoggedEvent {
  const TraceEvent* event = nullptr;  // nullptr: none
  uint64_t left_out = 0;              // of its kind, before it
};
LoggedEvent event_being_logged();

class TraceLog {
 public:
  // Logs by level and counts. Warnings that peers can cause are limited to ten per event, user and
  // second; how many were left out is said with the next one.
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

// Writes `bytes` to `path` by a temporary file beside it and a rename: readers see all or nothing.
// Errors: kUnavailable with the path and why.
Result<void> write_file_atomically(const std::string& path, std::string_view bytes,
                                   mode_t mode = 0644);

}  // namespace proffer
