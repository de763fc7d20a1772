// Gangs, from their launch, or from the time when agents report them, until their last task has
// ended.

#include "master/core/gangs.h"

#include <algorithm>

namespace proffer::master {

bool Gangs::add(const FrameworkId& framework, uint64_t gang, const TaskId& task, bool has_run) {
  Gang& g = gangs_[{framework, gang}];
  g.tasks[task] = has_run;
  return g.failed;
}

void Gangs::ran(const FrameworkId& framework, uint64_t gang, const TaskId& task) {
  const auto at = gangs_.find({framework, gang});
  if (at == gangs_.end()) return;
  const auto member = at->second.tasks.find(task);
  if (member != at->second.tasks.end()) member->second = true;
}

std::vector<TaskId> Gangs::end(const FrameworkId& framework, uint64_t gang, const TaskId& task) {
  const auto at = gangs_.find({framework, gang});
  if (at == gangs_.end()) return {};
  Gang& g = at->second;
  const bool whole =
      std::all_of(g.tasks.begin(), g.tasks.end(), [](const auto& member) { return member.second; });
  g.tasks.erase(task);
  if (g.tasks.empty()) {
    gangs_.erase(at);
    return {};
  }
  if (whole || g.failed) return {};
  g.failed = true;
  std::vector<TaskId> rest;
  for (const auto& [member, has_run] : g.tasks) rest.push_back(member);
  return rest;
}

}  // namespace proffer::master
