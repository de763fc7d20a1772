// Back-off for victims; spared.h explains its purpose.

#include "allocator/waiting/spared.h"

#include <algorithm>

#include "allocator/rules/prospect.h"

namespace proffer::fair {
namespace {

constexpr Duration kSpareMin = minutes(2);
constexpr Duration kSpareMax = hours(1);
// Further asks are not spared until others are forgotten.
constexpr size_t kSparedMax = 4'096;

}  // namespace

void Spared::note_victim(const FrameworkId& framework, const Task& task, Time now, Duration grace) {
  if (expected_run(task, now) <= kSpareMin) return;
  const auto is_past = [&](const Case& its) { return now >= later(its.from, its.lasts * 2); };
  if (cases_.size() >= kSparedMax) {
    std::erase_if(cases_, [&](const auto& entry) { return is_past(entry.second); });
  }
  const auto known = cases_.find({framework, task.ask()});
  if (known == cases_.end()) {
    if (cases_.size() < kSparedMax) {
      cases_.emplace(std::pair(framework, task.ask()), Case{later(now, grace), kSpareMin});
    }
    return;
  }
  Case& its = known->second;
  if (now < its.from) return;  // Another task of the ask had notice just before.
  its.lasts = is_past(its) ? kSpareMin : std::min(its.lasts * 2, kSpareMax);
  its.from = later(now, grace);
}

bool Spared::is_spared(const FrameworkId& framework, const AskName& ask, Time now) const {
  const auto known = cases_.find({framework, ask});
  return known != cases_.end() && now >= known->second.from &&
         now < later(known->second.from, known->second.lasts);
}

}  // namespace proffer::fair
