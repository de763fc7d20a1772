#pragma once

#include "common/time.h"
#include "master/core/master.h"

namespace proffer::master {

// Is told each step of a master's core: of a replay, or of a simulated master.
class StepWatcher {
 public:
  virtual ~StepWatcher() = default;
  // A life begins, with this core.
  virtual void begins(const MasterOptions& options, const MasterSnapshot& snapshot) = 0;
  // Before the core is: it may move parts of the event away.
  virtual void hears(const MasterEvent& event, Time now) = 0;
  // What came of it.
  virtual void says(const MasterOutbox& out) = 0;
  // The life is over.
  virtual void ends() = 0;
};

}  // namespace proffer::master
