#pragma once

// Which tasks run together or not at all.

#include <map>
#include <utility>
#include <vector>

#include "common/ids.h"

namespace proffer::master {

// A gang is whole once each of its tasks has run; until then the end of one is the end of all.
class Gangs {
 public:
  // A task of the gang, which has run before if it was adopted so. True: the gang has failed
  // already, so that it must end too.
  bool add(const FrameworkId& framework, uint64_t gang, const TaskId& task, bool has_run);
  void ran(const FrameworkId& framework, uint64_t gang, const TaskId& task);
  // It has ended. The other tasks of the gang that must end with it.
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
