#include "common/intervals.h"

#include "common/text.h"

namespace proffer {

Result<Duration> parse_interval(std::string_view name, std::string_view given) {
  Result<Duration> parsed = parse_duration(given);
  if (!parsed) return std::move(parsed).error().in(name);
  if (*parsed >= kIntervalMin) return parsed;
  return Error::invalid_argument(
      text(name, " must be at least ", to_text(kIntervalMin), ", not ", quoted(given)));
}

}  // namespace proffer
