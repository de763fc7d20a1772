#pragma once

// The timeouts of the agent's core.

#include <compare>
#include <string>

#include "common/deadlines.h"
#include "common/ids.h"

namespace proffer::agent {

struct Deadline {
  enum class Kind : uint8_t {
    kLeftovers,        // a process of a damaged checkpoint has not ended
    kRegister,         // a refused registration is retried
    kMasterPulse,      // a heartbeat is due, or the master has been silent for too long
    kExecutorPulse,    // the same for an executor
    kExecutorSession,  // the executor has not sent its hello, or has not come back
    kFetch,            // the files of its tasks are not complete
    kExecutorKill,     // it was asked to end and has not ended
    kSpare,            // no other task has come for it
    kTaskKill,         // the task was asked to end and has not ended
    kTaskRun,          // the task has reached its maximum run time
    kQuarantine,       // executors could not be started: a task is tried again
    kStarting,         // the tasks that are still being started are reported to the master
  };
  Kind kind = Kind::kMasterPulse;
  FrameworkId framework = {};
  std::string id = {};  // the executor or task

  auto operator<=>(const Deadline&) const = default;
};

using Deadlines = DeadlineQueue<Deadline>;

}  // namespace proffer::agent
