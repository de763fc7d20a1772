#pragma once

// What the SDK says to people in an author's process: little, and all of it through one function.
// By default that prints "warning: …" and "error: …" on standard error.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string_view>

namespace proffer::sdk {

enum class LogLevel : uint8_t {
  kInfo,     // a session began or ended
  kWarning,  // something went wrong, and is coped with: the master is away, a callback takes long
  kError,    // a person must act; often the last words of the program
};
std::string_view to_text(LogLevel level);  // "info", "warning", "error"
std::ostream& operator<<(std::ostream& out, LogLevel level);

// From now on `log` is called with each message of at least this level, in place of the printing;
// an empty one brings that back. Of the whole process, not of one scheduler: options_from() and
// session files have something to say before there is one. Messages have no newline at their end; a
// hint of what to do is a second line. `log` may be called on any thread, and by several at once,
// and must not throw.
void set_log(std::function<void(LogLevel, std::string_view)> log,
             LogLevel least = LogLevel::kWarning);

}  // namespace proffer::sdk
