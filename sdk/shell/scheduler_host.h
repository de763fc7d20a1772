#pragma once

// What a Scheduler stands on (driver_host.h), with the place where its identity is kept.

#include <functional>
#include <memory>
#include <string>

#include "sdk/scheduler.h"
#include "sdk/shell/driver_host.h"

namespace proffer::sdk {

class SchedulerHost : public DriverHost {
 public:
  // --- identity ----------------------------------------------------------------------------------
  virtual FrameworkId framework() const = 0;  // of an earlier life; empty: none
  virtual Secret secret() const = 0;          // of the first life, or a fresh one
  // Whether another life will find it.
  virtual bool keeps_identity() const = 0;
  virtual void save_identity(const FrameworkId& framework, const Secret& secret) = 0;
  // The framework was torn down.
  virtual void forget_identity() = 0;

  // --- the author's program ----------------------------------------------------------------------
  // In a coming turn. Any thread, where there are threads.
  virtual void post(std::function<void()> what) = 0;
  // Until what it returns is destroyed. Errors: as Scheduler::watch.
  virtual Result<std::shared_ptr<void>> watch(int descriptor, WatchEvents wanted,
                                              std::function<void(WatchEvents)> what) = 0;
  // Around each call of the author's code; `callback` is a literal.
  virtual void callback_begins(const char* callback) = 0;
  virtual void callback_ends() = 0;

  // --- what people, or laws, want to know --------------------------------------------------------
  virtual void happened(const TraceEvent& event) = 0;
  virtual void refused(const Error& error, bool is_handled) = 0;
  virtual void said(const Command& command) = 0;
  // Before its author hears it. False: the author shall not.
  virtual bool hears(const Notification& notification) = 0;

  // run() returns, and the process ends with this code; what was sent may still leave.
  virtual void leave(int exit_code) = 0;
};

}  // namespace proffer::sdk
