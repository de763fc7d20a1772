#pragma once

// The author's part of a framework in the simulator. Its demands and launches outlive its process,
// as if they were stored before they are sent; all else is lost in a crash.

#include <optional>
#include <string>
#include <vector>

#include "sdk/core/driver.h"

namespace proffer::sim {

// How often a workload that can only poll checks its apps or jobs.
inline constexpr Duration kWorkloadLook = seconds(1);

class Workload {
 public:
  using Commands = std::vector<sdk::Command>;

  virtual ~Workload() = default;

  // Name, role, mode and failover timeout; the node adds identity and secret.
  virtual sdk::DriverOptions options() const = 0;
  // A process of it begins: the first one, or one that takes over.
  virtual void begin(Time now) = 0;
  virtual void hear(const sdk::Notification& notification, Time now, Commands& out) = 0;
  virtual void tick(Time now, Commands& out) = 0;
  virtual std::optional<Time> next_deadline() const = 0;
  // Nothing is wanted any more, and all launched tasks have ended, as far as was reported.
  virtual bool is_done() const = 0;
  // False: it does not survive its scheduler. It is not restarted, and its tasks end by themselves.
  virtual bool survives_crash() const { return true; }
  virtual std::vector<Violation> violations() const { return {}; }
  // Tasks for which it received notices.
  virtual int64_t notices() const { return 0; }
  // For people: "37 of 40 tasks".
  virtual std::string progress() const = 0;
};

}  // namespace proffer::sim
