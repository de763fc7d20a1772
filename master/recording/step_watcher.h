#pragma once

#include "common/time.h"
#include "master/core/master.h"

namespace proffer::master {

// Observes each step of a master's core, in a replay or in a simulation.
class StepWatcher {
 public:
  virtual ~StepWatcher() = default;
  // A core begins.
  virtual void begins(const MasterOptions& options, const MasterSnapshot& snapshot) = 0;
  // Called before the core handles the event, which may move parts away.
  virtual void hears(const MasterEvent& event, Time now) = 0;
  // The output of the step.
  virtual void says(const MasterOutbox& out) = 0;
  // The core ends.
  virtual void ends() = 0;
};

}  // namespace proffer::master
