#pragma once

// The host of an Executor (driver_host.h), with the executor's identity.

#include "sdk/executor.h"
#include "sdk/shell/driver_host.h"

namespace proffer::sdk {

class ExecutorHost : public DriverHost {
 public:
  virtual FrameworkId framework() const = 0;
  virtual ExecutorId executor() const = 0;
  virtual Secret token() const = 0;
  // The run for which the process was started; 0: the agent did not give one.
  virtual uint64_t first_run() const = 0;

  // --- for the laws of simulations ---------------------------------------------------------------
  // The task is about to be passed to the author. False: do not pass it on.
  virtual bool starts(const proto::RunTask& run) = 0;
  // The author reported this status. It is not sent yet.
  virtual void says(const proto::TaskStatus& status) = 0;

  // run() returns, and the process ends with this code. Messages already sent may still leave.
  // `is_all_acknowledged`: the agent has all updates on disk.
  virtual void leave(int exit_code, bool is_all_acknowledged) = 0;
};

}  // namespace proffer::sdk
