// Errors for people; see STYLE: the value, what is allowed, and the remedy. All pass through say(),
// to the author's function or to standard error.

#include "sdk/shell/complaints.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <ostream>

#include "common/text.h"
#include "net/terminal.h"
#include "sdk/log.h"

namespace proffer::sdk {
namespace {

using Log = std::function<void(LogLevel, std::string_view)>;

constexpr std::array<std::string_view, 3> kLevels = {"info", "warning", "error"};

// One for the process. It outlives every thread that may still log.
struct Hook {
  std::mutex mutex = {};
  std::shared_ptr<const Log> log = {};
  LogLevel least = LogLevel::kWarning;
};
Hook& hook() {
  static auto* const kHook = new Hook;
  return *kHook;
}

void say(LogLevel level, std::string_view what) {
  std::shared_ptr<const Log> log;
  {
    Hook& at = hook();
    const std::lock_guard lock(at.mutex);
    if (level < at.least) return;
    log = at.log;
  }
  if (log) return (*log)(level, what);
  print_lines(text(to_text(level), ": ", what), stderr);
}

}  // namespace

std::string_view to_text(LogLevel level) { return kLevels.at(static_cast<size_t>(level)); }
std::ostream& operator<<(std::ostream& out, LogLevel level) { return out << to_text(level); }

void set_log(Log log, LogLevel least) {
  Hook& at = hook();
  const std::lock_guard lock(at.mutex);
  at.log = log ? std::make_shared<const Log>(std::move(log)) : nullptr;
  at.least = least;
}

void print_error(const Error& error) {
  // Without "error: " and the last newline, which say() adds.
  const std::string whole = error_text(error);
  constexpr size_t kBegins = std::string_view("error: ").size();
  say(LogLevel::kError, std::string_view(whole).substr(kBegins, whole.size() - kBegins - 1));
}

void print_warning(std::string_view what) { say(LogLevel::kWarning, what); }

void print_note(std::string_view what) { say(LogLevel::kInfo, what); }

void exit_with(const Error& error) {
  print_error(error);
  std::exit(error.code() == ErrorCode::kInvalidArgument ? 2 : 1);
}

void abort_with(const Error& error) {
  print_error(error);
  std::abort();
}

}  // namespace proffer::sdk
