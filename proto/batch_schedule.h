#pragma once

// Schedules of the batch framework, as shown to people.

#include <cstdint>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/time.h"

namespace proffer::proto {

// A fire time, or several that were missed together, and the result.
struct BatchFiring {
  Time at = {};
  Time last = {};
  std::string result = {};  // "started", "skipped", "missed", "refused"
  std::string job = {};     // the job or pipeline that was started
  bool operator==(const BatchFiring&) const = default;
};

struct BatchSchedule {
  std::string name = {};
  std::string owner = {};
  RoleName role = {};  // the role that is charged
  std::string cron = {};
  std::string zone = {};
  std::string overlap = {};
  std::string catch_up = {};
  bool is_paused = false;
  Time submitted_at = {};
  int64_t running = 0;                 // jobs that it started and that have not ended
  int64_t waiting = 0;                 // fire times that wait for these jobs
  std::vector<BatchFiring> next = {};  // the next fire times; only the times are set
  std::vector<BatchFiring> log = {};   // the last firings, oldest first
  // Shown only to its owner and to operators:
  std::string output = {};
  std::string note = {};  // why it cannot fire
  bool operator==(const BatchSchedule&) const = default;
};

}  // namespace proffer::proto
