#pragma once

// What the agent's core waits for.

#include <compare>
#include <string>

#include "common/deadlines.h"
#include "common/ids.h"

namespace proffer::agent {

struct Deadline {
  enum class Kind : uint8_t {
    kLeftovers,        // what a damaged checkpoint named is still not gone
    kRegister,         // a refused registration is tried again
    kMasterPulse,      // a heartbeat is due, or the master has been silent for too long
    kExecutorPulse,    // the same with an executor
    kExecutorSession,  // the executor has not said hello, or not come back
    kFetch,            // the files of its tasks are still not there
    kExecutorKill,     // it was asked to end and has not
    kSpare,            // no other task has come for it
    kTaskKill,         // the task was asked to end and has not
    kTaskRun,          // the task has run for as long as it may
    kQuarantine,       // executors could not be started: it is tried again
    kStarting,         // the master is told what is still being started
  };
  Kind kind = Kind::kMasterPulse;
  FrameworkId framework = {};
  std::string id = {};  // of the executor or task

  auto operator<=>(const Deadline&) const = default;
};

using Deadlines = DeadlineQueue<Deadline>;

}  // namespace proffer::agent
