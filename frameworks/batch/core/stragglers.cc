#include "frameworks/batch/core/stragglers.h"

#include <algorithm>
#include <utility>

#include "common/limits.h"

namespace proffer::batch {
namespace {

// The expected total time at the present rate; kDurationMax: no end is in sight. None if its
// reports do not suffice.
std::optional<Duration> time_in_all(const RunningTask& task) {
  if (!task.told_ago) return std::nullopt;
  if (*task.told_ago >= kStragglerSilence) return kDurationMax;
  if (task.done <= 0) return std::nullopt;
  const int64_t age_ms = std::min(task.age, kDurationMax).millis();
  const int64_t done = std::min(task.done, kProgressWhole);
  return milliseconds(std::min(age_ms * kProgressWhole / done, kDurationMax.millis()));
}

// The element at the fraction part / whole of the sorted times. Requires one.
Duration at_part(std::vector<Duration>& times, size_t part, size_t whole) {
  const auto at = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) * part / whole);
  std::nth_element(times.begin(), at, times.end());
  return *at;
}

}  // namespace

void TaskTimes::add(Duration time) {
  newest_.push_back(time);
  if (newest_.size() > kTaskTimesMax) newest_.pop_front();
}

bool is_slow(Duration took, const TaskTimes& times) {
  if (times.newest().size() < kTimesForSlow) return false;
  std::vector<Duration> all(times.newest().begin(), times.newest().end());
  const Duration typical = at_part(all, 1, 2);
  return took > typical + std::max(typical, seconds(2));
}

std::vector<uint32_t> stragglers(const std::vector<RunningTask>& running, const TaskTimes& times) {
  std::vector<Duration> all(times.newest().begin(), times.newest().end());
  bool any_tells = false;
  for (const RunningTask& task : running) {
    any_tells |= task.told_ago.has_value();
    const std::optional<Duration> in_all = time_in_all(task);
    // A task that has stopped is no measure of run times.
    if (in_all && *in_all < kDurationMax) all.push_back(*in_all);
  }
  if (all.empty()) return {};
  // The tasks that finish first are the short ones, so they are no measure if many still run.
  const bool is_measured = times.newest().size() >= std::min(running.size(), kTaskTimesMax);
  const Duration slow = at_part(all, 3, 4);
  const Duration typical = at_part(all, 1, 2);
  const Duration worthwhile = typical + std::max(typical / 4, seconds(1));

  std::vector<std::pair<Duration, uint32_t>> found;  // time to the end
  for (const RunningTask& task : running) {
    if (task.has_copy || task.age < kStragglerAge) continue;
    Duration left = kDurationMax;
    if (const std::optional<Duration> in_all = time_in_all(task)) {
      if (*in_all < kDurationMax) {
        left = *in_all - task.age;
        if (*in_all < slow || left <= worthwhile) continue;
      }
    } else {
      const bool is_overdue = task.age > slow + slow / 2;
      const bool is_silent = task.age >= kStragglerSilence;
      if (!(is_overdue && (is_measured || is_silent)) && !(any_tells && is_silent)) continue;
    }
    found.emplace_back(left, task.number);
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<uint32_t> numbers;
  numbers.reserve(found.size());
  for (const auto& [left, number] : found) numbers.push_back(number);
  return numbers;
}

}  // namespace proffer::batch
