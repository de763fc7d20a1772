#pragma once

// When to look whether a task does its work, and what of it is told. Pure: the shell looks
// (health_probe.h) and keeps the clock.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/messages.h"

namespace proffer::executor {

// What came of one look.
struct Looked {
  std::string failure = {};  // how it failed, for people; empty: it was good
  bool is_good() const { return failure.empty(); }
  bool operator==(const Looked&) const = default;
};

// A change, to be told as an update of the running task.
struct HealthNews {
  bool healthy = false;
  std::string message = {};
  bool operator==(const HealthNews&) const = default;
};

// The first look is due at the start, each further one `interval` after the end of the one before.
// Failures of looks that began within `grace` do not count until one look was good; `failures` in a
// row make a task unhealthy, one good look makes it healthy. Until either it is neither.
class Health {
 public:
  // The check must have passed proto::check_health_check.
  Health(proto::HealthCheck check, Time started);

  // True: begin a look now, and say what came of it by on_looked().
  bool on_tick(Time now);
  // Only after on_tick() asked for it. What to tell, if this changes what was told last.
  std::optional<HealthNews> on_looked(const Looked& looked, Time now);
  // None while a look is under way.
  std::optional<Time> next_deadline() const { return due_; }

 private:
  proto::HealthCheck check_;
  Time started_;
  std::optional<Time> due_;
  Time began_;             // the look that is under way, or was last
  bool was_good_ = false;  // ever: the grace is over
  int64_t failures_ = 0;   // in a row, those that count; no more than matter
  std::optional<bool> told_ = {};
};

// What is read of an HTTP answer at most.
inline constexpr size_t kStatusLineBytesMax = 1024;

// Judges an HTTP answer by its first line: 200 to 399 is good. None: `received`, which is all that
// came so far, is only a part of that line.
std::optional<Looked> judge_answer(std::string_view received);

// The data of each update of a running task: {"ports":{"http":31000}}, or nothing without ports.
// Names of ports need no escapes.
std::string told_ports(const std::map<std::string, uint16_t>& ports);

}  // namespace proffer::executor
