#pragma once

// Tasks for tests that drive the allocator by hand.

#include <string>
#include <utility>
#include <vector>

#include "allocator/allocator.h"
#include "common/text.h"

namespace proffer {

inline RunningTask running_task(const std::string& id, const RoleName& role, Resources resources,
                                const AskName& ask = {}, Time since = {}) {
  return {.task = TaskId(id),
          .ask = ask,
          .claim = {.slices = {Slice{.resources = std::move(resources)}}, .role = role},
          .since = since};
}

// The tasks of the grant's fills, named by rising `number`s; the first holds all of `used`.
inline std::vector<RunningTask> tasks_of(const Grant& grant, const Resources& used,
                                         const std::vector<AskFill>& fills, uint64_t& number,
                                         Time now) {
  std::vector<RunningTask> tasks;
  for (const AskFill& fill : fills) {
    for (int64_t i = 0; i < fill.count; ++i) {
      tasks.push_back(running_task(text("t-", ++number), grant.role,
                                   tasks.empty() ? used : Resources(), fill.ask, now));
    }
  }
  if (tasks.empty() && !used.is_zero()) {
    tasks.push_back(running_task(text("t-", ++number), grant.role, used, {}, now));
  }
  return tasks;
}

}  // namespace proffer
