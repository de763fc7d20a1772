#pragma once

// A framework in the simulator: what its author wrote. What it wants and has launched outlives its
// process, as if written down before it is said; everything else is lost with a crash.

#include <optional>
#include <string>
#include <vector>

#include "sdk/core/driver.h"

namespace proffer::sim {

// How often a workload that can only ask looks at what has become of its apps or jobs.
inline constexpr Duration kWorkloadLook = seconds(1);

class Workload {
 public:
  using Commands = std::vector<sdk::Command>;

  virtual ~Workload() = default;

  // Name, role, mode and failover timeout; identity and secret are the node's.
  virtual sdk::DriverOptions options() const = 0;
  // A process of it begins: the first, or one that takes over.
  virtual void begin(Time now) = 0;
  virtual void hear(const sdk::Notification& notification, Time now, Commands& out) = 0;
  virtual void tick(Time now, Commands& out) = 0;
  virtual std::optional<Time> next_deadline() const = 0;
  // Nothing is wanted any more, and everything that was launched has ended, as far as it was told.
  virtual bool is_done() const = 0;
  // One that did not survive its scheduler: it is left alone, and its tasks end by themselves.
  virtual bool survives_crash() const { return true; }
  virtual std::vector<Violation> violations() const { return {}; }
  // Tasks that it was told to end.
  virtual int64_t notices() const { return 0; }
  // For people: "37 of 40 tasks".
  virtual std::string progress() const = 0;
};

}  // namespace proffer::sim
