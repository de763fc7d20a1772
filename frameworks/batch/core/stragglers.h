#pragma once

// Which running tasks get a second attempt, a *copy*, elsewhere: the LATE scheduler (Zaharia,
// Konwinski, Joseph, Katz and Stoica: "Improving MapReduce Performance in Heterogeneous
// Environments", OSDI 2008). The task with the longest time to its end comes first, since a copy of
// it gains the most. Executors tell how far they are (TaskProgress in work.h); a task that tells
// nothing any more, because its agent or its processes stand still, has no end in sight.
//
// Pure, and in integers. job_speculation.cc asks, and launches.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "common/time.h"
#include "frameworks/batch/core/work.h"

namespace proffer::batch {

// A task younger than this gets no copy: it is too early to tell.
inline constexpr Duration kStragglerAge = seconds(2);
// A task that has told nothing for so long stands still: two reports are missing.
inline constexpr Duration kStragglerSilence = kProgressEvery * 2 + seconds(2);
// The last task of a job, which commits the output, is as often as not the only one that runs: it
// gets a copy when it has run for so long. An agent that is away is noticed after as much.
inline constexpr Duration kEndStragglerAge = seconds(30);
// How often running tasks are compared at most: at once when none waits for an agent any more, so
// that the slots that the last tasks leave have copies to run.
inline constexpr Duration kStragglersEvery = seconds(1);
// Copies that run at a time: a tenth of the running tasks, or these. With one, two tasks of one
// slow agent would be waited for one after the other.
inline constexpr size_t kCopiesLeast = 2;
constexpr size_t copies_max(size_t running) {
  return running / 10 > kCopiesLeast ? running / 10 : kCopiesLeast;
}

// How long tasks of one kind take: of those that finished last.
class TaskTimes {
 public:
  void add(Duration time);
  const std::deque<Duration>& newest() const { return newest_; }

 private:
  std::deque<Duration> newest_;
};
// Enough for quartiles.
inline constexpr size_t kTaskTimesMax = 200;

// Whether a task took so much longer than tasks of its kind do that its agent may be slow: more
// than twice their median, and two seconds more. Nothing is slow as long as fewer than
// kTimesForSlow tasks have finished.
bool is_slow(Duration took, const TaskTimes& times);
inline constexpr size_t kTimesForSlow = 8;

struct RunningTask {
  uint32_t number = 0;
  Duration age = {};
  // How far it is, of kProgressWhole, and how long ago it told that; nothing: it told nothing yet.
  int64_t done = 0;
  std::optional<Duration> told_ago = {};
  bool has_copy = false;  // counts for the quartiles, and gets no further one
  bool operator==(const RunningTask&) const = default;
};

// Tasks that should get a copy now, the longest time to the end first. A task gets one if all of
// these hold:
//   - it is at least kStragglerAge old;
//   - it is one of the slowest quarter, by the time that it will have taken in all (LATE's
//     SlowTaskThreshold): finished and running tasks count; without any other task that is
//     finished or has told how far it is, nothing can be compared;
//   - a copy would end clearly earlier: the time to its end is longer than tasks take (their
//     median), and a quarter of that or a second. No end is in sight of a task that stands
//     still. Nor of one that has told nothing yet, if it is half as old again as the slowest
//     quarter gets (then as many must have finished as run, or it is older than kStragglerSilence),
//     or if it is older than that and others have told something.
// O(n log n) in the running tasks.
std::vector<uint32_t> stragglers(const std::vector<RunningTask>& running, const TaskTimes& times);

}  // namespace proffer::batch
