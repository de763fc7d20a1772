#pragma once

// Which running tasks get a second attempt, a *copy*, elsewhere: the LATE scheduler (Zaharia,
// Konwinski, Joseph, Katz and Stoica: "Improving MapReduce Performance in Heterogeneous
// Environments", OSDI 2008). The task with the longest time to its end comes first, since a copy of
// it gains the most. Executors report their progress (TaskProgress in work.h). A task that reports
// nothing any more, because its agent or its processes have stopped, has no end in sight.
//
// Pure, and in integers. job_speculation.cc uses it and launches the copies.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "common/time.h"
#include "frameworks/batch/core/work.h"

namespace proffer::batch {

// A task younger than this gets no copy, since it is too early to judge.
inline constexpr Duration kStragglerAge = seconds(2);
// A task without a report for this time has stopped: two reports are missing.
inline constexpr Duration kStragglerSilence = kProgressEvery * 2 + seconds(2);
// The last task of a job, which commits the output, is often the only one that runs: it gets a copy
// when it has run for this time. That is also the time after which a missing agent is noticed.
inline constexpr Duration kEndStragglerAge = seconds(30);
// The shortest time between two comparisons of running tasks. They are compared at once when no
// task waits for an agent any more, so that copies use the slots that the last tasks leave.
inline constexpr Duration kStragglersEvery = seconds(1);
// Copies that run at a time: a tenth of the running tasks, but at least this many. With one copy,
// two tasks of one slow agent would be copied one after the other.
inline constexpr size_t kCopiesLeast = 2;
constexpr size_t copies_max(size_t running) {
  return running / 10 > kCopiesLeast ? running / 10 : kCopiesLeast;
}

// The run times of the tasks of one kind that finished last.
class TaskTimes {
 public:
  void add(Duration time);
  const std::deque<Duration>& newest() const { return newest_; }

 private:
  std::deque<Duration> newest_;
};
// Enough for quartiles.
inline constexpr size_t kTaskTimesMax = 200;

// True if a task took so much longer than others of its kind that its agent may be slow: more than
// twice their median, and at least two seconds longer. Always false while fewer than kTimesForSlow
// tasks have finished.
bool is_slow(Duration took, const TaskTimes& times);
inline constexpr size_t kTimesForSlow = 8;

struct RunningTask {
  uint32_t number = 0;
  Duration age = {};
  // Its progress, of kProgressWhole, and how long ago it was reported; none: no report yet.
  int64_t done = 0;
  std::optional<Duration> told_ago = {};
  bool has_copy = false;  // it counts in the quartiles, and gets no other copy
  bool operator==(const RunningTask&) const = default;
};

// Tasks that should get a copy now, longest time to the end first. A task gets one if all of these
// hold:
//   - it is at least kStragglerAge old;
//   - it is in the slowest quarter, by its expected total time (LATE's SlowTaskThreshold):
//     finished and running tasks count; if no other task is finished or has reported progress,
//     there is no comparison;
//   - a copy would end clearly earlier: the time to its end is longer than the median of the
//     tasks, plus a quarter of that or a second. A task that has stopped has no end in sight.
//     Neither has a task without a report, if it is half as old again as the slowest quarter
//     gets (then as many must have finished as run, or it is older than kStragglerSilence), or
//     if it is older than that and others have reported progress.
// O(n log n) in the running tasks.
std::vector<uint32_t> stragglers(const std::vector<RunningTask>& running, const TaskTimes& times);

}  // namespace proffer::batch
