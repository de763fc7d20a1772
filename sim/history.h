#pragma once

// The events of a simulated world, in order: one hash of all events, and the last events as text.
// Two runs with the same hash are the same.

#include <cstdint>
#include <deque>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "common/time.h"
#include "common/trace.h"

namespace proffer::sim {

class History {
 public:
  // The number of events that a failure report shows.
  static constexpr size_t kKept = 50;

  // Each event is also printed to `live` as it happens, if given. Times are printed relative to
  // `zero`.
  explicit History(std::ostream* live, Time zero = {}) : live_(live), zero_(zero) {}

  void add(Time at, const std::string& who, TraceEvent event);
  uint64_t hash() const { return hash_; }
  uint64_t events() const { return events_; }
  // "12.034512 a2 agent registered session=3", oldest first, at most kKept.
  std::vector<std::string> last() const;

 private:
  struct Entry {
    Time at = {};
    std::string who = {};
    TraceEvent event;
  };
  std::string to_text(const Entry& entry) const;
  void mix(std::string_view bytes);
  void mix(uint64_t number);

  std::ostream* live_;
  Time zero_;
  uint64_t hash_ = 0xCBF29CE484222325u;  // after FNV-1a, eight bytes at once
  uint64_t events_ = 0;
  std::deque<Entry> last_;
};

}  // namespace proffer::sim
