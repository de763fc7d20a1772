#pragma once

// The host of a Scheduler (driver_host.h), with the storage of its identity.

#include <functional>
#include <memory>
#include <string>

#include "sdk/scheduler.h"
#include "sdk/shell/driver_host.h"

namespace proffer::sdk {

class SchedulerHost : public DriverHost {
 public:
  // --- identity ----------------------------------------------------------------------------------
  virtual FrameworkId framework() const = 0;  // from an earlier life; empty: none
  virtual Secret secret() const = 0;          // from the first life, or a new one
  // True if a later life will find the identity.
  virtual bool keeps_identity() const = 0;
  virtual void save_identity(const FrameworkId& framework, const Secret& secret) = 0;
  // The framework was torn down.
  virtual void forget_identity() = 0;

  // --- the author's program ----------------------------------------------------------------------
  // Runs `what` in a later turn. Any thread, where there are threads.
  virtual void post(std::function<void()> what) = 0;
  // Watches until the returned object is destroyed. Errors: as Scheduler::watch.
  virtual Result<std::shared_ptr<void>> watch(int descriptor, WatchEvents wanted,
                                              std::function<void(WatchEvents)> what) = 0;
  // Called around each call of the author's code. `callback` is a string literal.
  virtual void callback_begins(const char* callback) = 0;
  virtual void callback_ends() = 0;

  // --- for people and for the laws of simulations ------------------------------------------------
  virtual void happened(const TraceEvent& event) = 0;
  virtual void refused(const Error& error, bool is_handled) = 0;
  virtual void on_command(const Command& command) = 0;
  // Called before the author receives the notification. False: do not pass it on.
  virtual bool hears(const Notification& notification) = 0;

  // run() returns, and the process ends with this code. Messages already sent may still leave.
  virtual void leave(int exit_code) = 0;
};

}  // namespace proffer::sdk
