#include "proto/limit_warning.h"

#include <cstring>

#include "common/text.h"

namespace proffer::proto {
namespace {

constexpr std::string_view kForms = "write SIGNAL@TIME, as in USR1@60s; the default time is 60s";

}  // namespace

Result<LimitWarning> parse_limit_warning(std::string_view given) {
  LimitWarning warning;
  const size_t at = given.find('@');
  const Result<int32_t> signal = parse_kill_signal(given.substr(0, at));
  if (!signal) {
    return Error(signal.error()).with_hint(kForms);
  }
  warning.signal = *signal;
  if (at == std::string_view::npos) return warning;
  const Result<Duration> before = parse_duration(given.substr(at + 1));
  if (!before) {
    Error error = before.error();
    if (!error.hint().empty()) return error;
    return std::move(error).with_hint(kForms);
  }
  warning.before = *before;
  if (warning.before > Duration()) return warning;
  return Error::invalid_argument(
             text(quoted(given), ": the time before the limit must be more than 0s"))
      .with_hint(kForms);
}

Result<std::optional<LimitWarning>> warning_in(const Environment& environment) {
  const auto found = environment.find(std::string(kWarningVariable));
  if (found == environment.end()) return std::optional<LimitWarning>();
  Result<LimitWarning> warning = parse_limit_warning(found->second);
  if (!warning) return std::move(warning).error().in(kWarningVariable);
  return std::optional(*warning);
}

Result<void> check_limit_warning(const LimitWarning& warning, Duration limit,
                                 std::string_view limit_name) {
  if (limit == Duration()) {
    return Error::invalid_argument(text(quoted(to_text(warning)), " needs a time limit"))
        .with_hint(text("give it with ", limit_name));
  }
  if (warning.before < limit) return {};
  return Error::invalid_argument(text(quoted(to_text(warning)), ": the time before the limit must ",
                                      "be less than the limit, which is ", to_text(limit)))
      .with_hint(text("write a longer ", limit_name, ", or a shorter time, as in USR1@",
                      to_text(limit / 10)));
}

std::string to_text(const LimitWarning& warning) {
  const char* name = sigabbrev_np(warning.signal);
  return text(name == nullptr ? std::to_string(warning.signal) : std::string(name), "@",
              to_text(warning.before));
}

}  // namespace proffer::proto
