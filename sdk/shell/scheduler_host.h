#pragma once

// What a Scheduler stands on: a clock, a connection to the master, and the place where its identity
// is kept. In a process that is a loop (loop_host.h), in SimCluster a simulated process; so the
// same scheduler runs on both.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/trace.h"
#include "sdk/scheduler.h"

namespace proffer::sdk {

class SchedulerHost {
 public:
  // What the host tells; never from within a call to it.
  class Guest {
   public:
    virtual void on_timer() = 0;
    virtual void on_connected() = 0;
    virtual void on_frame(proto::Envelope envelope) = 0;
    virtual void on_disconnected(const std::string& reason) = 0;
    // Broken invariants of the driver.
    virtual std::vector<Violation> violations() const = 0;

   protected:
    ~Guest() = default;
  };
  virtual ~SchedulerHost() = default;

  // Before anything else; outlives the host's last turn.
  virtual void set_guest(Guest* guest) = 0;

  // --- identity ----------------------------------------------------------------------------------
  virtual FrameworkId framework() const = 0;  // of an earlier life; empty: none
  virtual Secret secret() const = 0;          // of the first life, or a fresh one
  // Whether another life will find it.
  virtual bool keeps_identity() const = 0;
  virtual void save_identity(const FrameworkId& framework, const Secret& secret) = 0;
  // The framework was torn down.
  virtual void forget_identity() = 0;

  // --- time --------------------------------------------------------------------------------------
  virtual Time now() const = 0;
  // Guest::on_timer at that time; replaces what was armed before.
  virtual void arm(std::optional<Time> due) = 0;
  virtual void after(Duration duration, std::function<void()> what) = 0;
  // At the end of this turn.
  virtual void defer(std::function<void()> what) = 0;
  virtual void work(std::function<void()> work, std::function<void()> done) = 0;
  virtual void on_signal(int signal, std::function<void()> what) = 0;
  // In a coming turn. Any thread, where there are threads.
  virtual void post(std::function<void()> what) = 0;
  // Until what it returns is destroyed. Errors: as Scheduler::watch.
  virtual Result<std::shared_ptr<void>> watch(int descriptor, WatchEvents wanted,
                                              std::function<void(WatchEvents)> what) = 0;
  // Around each call of the author's code; `callback` is a literal.
  virtual void callback_begins(const char* callback) = 0;
  virtual void callback_ends() = 0;

  // --- the master --------------------------------------------------------------------------------
  // Again and again until leave(), with back-off.
  virtual void connect() = 0;
  // False: it cannot leave any more. The connection is then reset.
  virtual bool send(const proto::Envelope& envelope) = 0;
  virtual void reset(const std::string& reason) = 0;

  // --- what people, or laws, want to know --------------------------------------------------------
  virtual void happened(const TraceEvent& event) = 0;
  virtual void warn(std::string_view what) = 0;
  virtual void refused(const Error& error, bool is_handled) = 0;
  virtual void said(const Command& command) = 0;
  // Before its author hears it. False: the author shall not.
  virtual bool hears(const Notification& notification) = 0;

  // --- the end -----------------------------------------------------------------------------------
  // Until leave(). Of a simulated one: returns at once, others turn the world.
  virtual void run() = 0;
  // run() returns, and the process ends with this code; what was sent may still leave.
  virtual void leave(int exit_code) = 0;
};

}  // namespace proffer::sdk
