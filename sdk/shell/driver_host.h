#pragma once

// What a Scheduler and an Executor both stand on: a clock, and one connection, to the master or to
// the agent. In a process that is a loop (loop_host.h, loop_executor_host.h), in SimCluster a
// simulated process; so the same program runs on both.

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
  virtual ~DriverHost() = default;

  // Before anything else; outlives the host's last turn.
  virtual void set_guest(Guest* guest) = 0;

  // --- time --------------------------------------------------------------------------------------
  virtual Time now() const = 0;
  // Guest::on_timer at that time; replaces what was armed before.
  virtual void arm(std::optional<Time> due) = 0;
  virtual void after(Duration duration, std::function<void()> what) = 0;
  // At the end of this turn.
  virtual void defer(std::function<void()> what) = 0;
  virtual void work(std::function<void()> work, std::function<void()> done) = 0;
  virtual void on_signal(int signal, std::function<void()> what) = 0;

  // --- the connection ----------------------------------------------------------------------------
  // Again and again until the end, with back-off.
  virtual void connect() = 0;
  // False: it cannot leave any more. The connection is then reset.
  virtual bool send(const proto::Envelope& envelope) = 0;
  virtual void reset(const std::string& reason) = 0;

  virtual void warn(std::string_view what) = 0;

  // Until the host's leave(). Of a simulated one: returns at once, others turn the world.
  virtual void run() = 0;
};

}  // namespace proffer::sdk
