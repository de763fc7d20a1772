#pragma once

// The host of a Scheduler or an Executor: a clock, and one connection to the master or to the
// agent. In a process the host is an event loop (loop_host.h, loop_executor_host.h), in a
// SimCluster it is a simulated process. So the same program runs on both.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/time.h"
#include "common/trace.h"
#include "proto/messages.h"

namespace proffer::sdk {

class DriverHost {
 public:
  // Receives the host's events. The host never calls it from within a call to the host.
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
  virtual ~DriverHost() = default;

  // Called first. The guest outlives the host's last turn.
  virtual void set_guest(Guest* guest) = 0;

  // --- time --------------------------------------------------------------------------------------
  virtual Time now() const = 0;
  // Guest::on_timer is called at this time. Replaces the time that was set before.
  virtual void arm(std::optional<Time> due) = 0;
  virtual void after(Duration duration, std::function<void()> what) = 0;
  // Runs `what` at the end of this turn.
  virtual void defer(std::function<void()> what) = 0;
  virtual void work(std::function<void()> work, std::function<void()> done) = 0;
  virtual void on_signal(int signal, std::function<void()> what) = 0;

  // --- the connection ----------------------------------------------------------------------------
  // Connects, and reconnects with back-off until the end.
  virtual void connect() = 0;
  // False: the envelope can no longer be sent. The connection is then reset.
  virtual bool send(const proto::Envelope& envelope) = 0;
  virtual void reset(const std::string& reason) = 0;

  virtual void warn(std::string_view what) = 0;

  // Runs until the host's leave(). On a simulated host it returns at once, since the simulation
  // runs the host.
  virtual void run() = 0;
};

}  // namespace proffer::sdk
