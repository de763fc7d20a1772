#pragma once

// Time as a value. Cores receive the time; only shells read clocks.

#include <compare>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <string>
#include <string_view>

#include "common/result.h"

namespace proffer {

// A duration in whole nanoseconds, possibly negative.
class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration nanos(int64_t n) { return Duration(n); }
  constexpr int64_t nanos() const { return nanos_; }
  constexpr int64_t micros() const { return nanos_ / 1'000; }
  constexpr int64_t millis() const { return nanos_ / 1'000'000; }
  constexpr double seconds() const { return static_cast<double>(nanos_) / 1e9; }  // for printing

  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration operator+(Duration o) const { return Duration(nanos_ + o.nanos_); }
  constexpr Duration operator-(Duration o) const { return Duration(nanos_ - o.nanos_); }
  constexpr Duration operator*(int64_t k) const { return Duration(nanos_ * k); }
  constexpr Duration operator/(int64_t k) const { return Duration(nanos_ / k); }

 private:
  constexpr explicit Duration(int64_t n) : nanos_(n) {}
  int64_t nanos_ = 0;
};

constexpr Duration nanoseconds(int64_t n) { return Duration::nanos(n); }
constexpr Duration microseconds(int64_t n) { return Duration::nanos(n * 1'000); }
constexpr Duration milliseconds(int64_t n) { return Duration::nanos(n * 1'000'000); }
constexpr Duration seconds(int64_t n) { return Duration::nanos(n * 1'000'000'000); }
constexpr Duration minutes(int64_t n) { return seconds(n * 60); }
constexpr Duration hours(int64_t n) { return minutes(n * 60); }

// A point in time: nanoseconds since the Unix epoch (real shells) or since the start of the world
// (simulator). The shells ensure that it never goes back within one process.
class Time {
 public:
  constexpr Time() = default;
  static constexpr Time from_nanos(int64_t n) { return Time(n); }
  static constexpr Time far_future() { return Time(std::numeric_limits<int64_t>::max()); }
  constexpr int64_t nanos() const { return nanos_; }
  constexpr double seconds() const { return static_cast<double>(nanos_) / 1e9; }  // for printing

  constexpr auto operator<=>(const Time&) const = default;
  constexpr Time operator+(Duration d) const { return Time(nanos_ + d.nanos()); }
  constexpr Time operator-(Duration d) const { return Time(nanos_ - d.nanos()); }
  constexpr Duration operator-(Time o) const { return Duration::nanos(nanos_ - o.nanos_); }

 private:
  constexpr explicit Time(int64_t n) : nanos_(n) {}
  int64_t nanos_ = 0;
};

// "500ms", "30s", "10m", "2h", "1w", "1.5s", "0"; units ns us ms s m h d w, at most three decimals.
// Several parts from the largest unit down: "1h30m". As in Slurm, "01:30:00" is hours, minutes and
// seconds, and "1-12:00:00" begins with days ("1-12", "1-12:30"). Not negative, at most ten years.
// Errors: kInvalidArgument; for "90" and "10:00", which people read in two ways, it gives both.
Result<Duration> parse_duration(std::string_view text);
// The shortest text that parses to the same duration: "1.5s", "2h", "0s".
std::string to_text(Duration duration);
std::ostream& operator<<(std::ostream& out, Duration duration);

}  // namespace proffer
