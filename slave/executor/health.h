#pragma once

// Schedules the health checks of a task and decides which results are reported. Pure: the shell
// runs the checks (health_probe.h) and has the clock.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/messages.h"

namespace proffer::executor {

// The result of one check.
struct Looked {
  std::string failure = {};  // why it failed, for people; empty: it succeeded
  bool is_good() const { return failure.empty(); }
  bool operator==(const Looked&) const = default;
};

// A change, to be reported in an update of the running task.
struct HealthNews {
  bool healthy = false;
  std::string message = {};
  bool operator==(const HealthNews&) const = default;
};

// The first check is due at the start, each further one `interval` after the end of the last.
// Failures of checks that began within `grace` do not count until the first success. `failures` in
// a row make the task unhealthy, one success makes it healthy; before that its health is unknown.
class Health {
 public:
  // The check must have passed proto::check_health_check.
  Health(proto::HealthCheck check, Time started);

  // True: begin a check now, and call on_looked() with the result.
  bool on_tick(Time now);
  // Only after on_tick() returned true. Returns the change to report, if there is one.
  std::optional<HealthNews> on_looked(const Looked& looked, Time now);
  // None while a check is running.
  std::optional<Time> next_deadline() const { return due_; }

 private:
  proto::HealthCheck check_;
  Time started_;
  std::optional<Time> due_;
  Time began_;             // of the current or the last check
  bool was_good_ = false;  // at least one success: the grace period is over
  int64_t failures_ = 0;   // in a row, counted up to the maximum that matters
  std::optional<bool> told_ = {};
};

// Maximum of an HTTP answer that is read.
inline constexpr size_t kStatusLineBytesMax = 1024;

// Judges an HTTP answer by its first line: 200 to 399 is a success. None: `received` is only a part
// of that line.
std::optional<Looked> judge_answer(std::string_view received);

// The data of each update of a running task: {"ports":{"http":31000}}; empty without ports. Port
// names need no escaping.
std::string told_ports(const std::map<std::string, uint16_t>& ports);

}  // namespace proffer::executor
