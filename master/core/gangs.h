#pragma once

// Gangs: tasks that run together or not at all.

#include <map>
#include <utility>
#include <vector>

#include "common/ids.h"

namespace proffer::master {

// A gang is whole when each of its tasks has run. Until then the end of one task ends all of them.
class Gangs {
 public:
  // Adds a task of the gang; `has_run`: it was adopted and has run before. True: the gang has
  // already failed, so this task must end too.
  bool add(const FrameworkId& framework, uint64_t gang, const TaskId& task, bool has_run);
  void ran(const FrameworkId& framework, uint64_t gang, const TaskId& task);
  // The task has ended. Returns the other tasks of the gang that must end with it.
  std::vector<TaskId> end(const FrameworkId& framework, uint64_t gang, const TaskId& task);
  size_t size() const { return gangs_.size(); }

 private:
  struct Gang {
    std::map<TaskId, bool> tasks = {};  // and whether each has run
    bool failed = false;
  };
  std::map<std::pair<FrameworkId, uint64_t>, Gang> gangs_;
};

}  // namespace proffer::master
