#pragma once

// What an Executor stands on (driver_host.h), with its identity.

#include "sdk/executor.h"
#include "sdk/shell/driver_host.h"

namespace proffer::sdk {

class ExecutorHost : public DriverHost {
 public:
  virtual FrameworkId framework() const = 0;
  virtual ExecutorId executor() const = 0;
  virtual Secret token() const = 0;
  // For which the process was started; 0: the agent did not say.
  virtual uint64_t first_run() const = 0;

  // --- what laws want to know --------------------------------------------------------------------
  // A task is the author's from now on. False: the author shall not hear of it.
  virtual bool starts(const proto::RunTask& run) = 0;
  // The author told this of a task. It is not sent yet.
  virtual void says(const proto::TaskStatus& status) = 0;

  // run() returns, and the process ends with this code; what was sent may still leave.
  // `is_all_acknowledged`: the agent has written down all updates.
  virtual void leave(int exit_code, bool is_all_acknowledged) = 0;
};

}  // namespace proffer::sdk
