#pragma once

// The SDK's messages to people. There are few, and all pass through one function. By default it
// prints "warning: …" and "error: …" on standard error.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string_view>

namespace proffer::sdk {

enum class LogLevel : uint8_t {
  kInfo,     // a session began or ended
  kWarning,  // something went wrong and is handled: the master is away, a callback takes long
  kError,    // a person must act; often the last message of the program
};
std::string_view to_text(LogLevel level);  // "info", "warning", "error"
std::ostream& operator<<(std::ostream& out, LogLevel level);

// Calls `log` with each message of at least this level, instead of printing it. An empty `log`
// restores printing. The setting is for the whole process, not for one scheduler, since
// options_from() and session files log before a scheduler exists. Messages have no newline at their
// end; a hint is a second line. `log` may be called on any thread, and by several at once. It must
// not throw.
void set_log(std::function<void(LogLevel, std::string_view)> log,
             LogLevel least = LogLevel::kWarning);

}  // namespace proffer::sdk
