#include "common/time.h"

#include <algorithm>
#include <array>
#include <optional>
#include <ostream>
#include <vector>

#include "common/limits.h"
#include "common/text.h"

namespace proffer {
namespace {

struct Unit {
  std::string_view name;
  int64_t nanos;
};

constexpr int64_t kSecond = 1'000'000'000;
// Longest first, so that printing finds the largest unit that fits exactly.
constexpr std::array<Unit, 8> kUnits = {{
    {"w", kSecond * 3600 * 24 * 7},
    {"d", kSecond * 3600 * 24},
    {"h", kSecond * 3600},
    {"m", kSecond * 60},
    {"s", kSecond},
    {"ms", 1'000'000},
    {"us", 1'000},
    {"ns", 1},
}};
constexpr int64_t kNanosMax = kDurationMax.nanos();

Error wrong_duration(std::string_view text) {
  return Error::invalid_argument(proffer::text(
      "a duration must be a number and a unit (ns us ms s m h d w) of at most ten years, "
      "as in 500ms, 30s, 1h30m or 01:30:00, not ",
      quoted(text)));
}

Error two_readings(std::string_view text, const std::string& one, const std::string& other) {
  return Error::invalid_argument(proffer::text("the duration ", quoted(text), " has two readings, ",
                                               one, " and ", other))
      .with_hint(proffer::text("write ", one, " or ", other));
}

// The index in kUnits; its size if there is none of this name.
size_t unit_of(std::string_view name) {
  size_t index = 0;
  while (index < kUnits.size() && kUnits[index].name != name) ++index;
  return index;
}

// "1.5" of a unit; none if it is no number, too large, or no whole number of nanoseconds.
std::optional<int64_t> nanos_of(std::string_view number, size_t unit) {
  const int64_t size = kUnits[unit].nanos;
  const size_t point = number.find('.');
  const Result<int64_t> count =
      parse_whole("the number", number.substr(0, point), 0, kNanosMax / size);
  if (!count) return std::nullopt;
  if (point == std::string_view::npos) return *count * size;
  const Result<int64_t> milli = parse_milli(proffer::text('0', number.substr(point)));
  if (!milli || *milli * size % 1000 != 0) return std::nullopt;
  return *count * size + *milli * size / 1000;
}

// The forms of Slurm: H:MM:SS, D-H, D-H:MM, D-H:MM:SS.
Result<Duration> parse_clock(std::string_view whole) {
  const size_t dash = whole.find('-');
  const bool has_days = dash != std::string_view::npos;
  const std::vector<std::string_view> parts = split(has_days ? whole.substr(dash + 1) : whole, ':');
  const auto is_number = [](std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (parts.size() > 3 || !std::all_of(parts.begin(), parts.end(), is_number) ||
      (has_days && !is_number(whole.substr(0, dash)))) {
    return wrong_duration(whole);
  }
  if (!has_days && parts.size() == 2) {
    return two_readings(whole, proffer::text(parts[0], "m", parts[1], "s"),
                        proffer::text(parts[0], "h", parts[1], "m"));
  }
  int64_t seconds = 0;
  const auto add = [&](std::string_view number, int64_t size, int64_t most) {
    const Result<int64_t> count = parse_whole("the number", number, 0, most);
    if (count) seconds += *count * size;
    return count.has_value();
  };
  constexpr int64_t kSizes[] = {3'600, 60, 1};
  const int64_t hours_max = has_days ? 23 : kNanosMax / kSecond / 3'600;
  const int64_t most[] = {hours_max, 59, 59};
  bool is_valid = !has_days || add(whole.substr(0, dash), 86'400, kNanosMax / kSecond / 86'400);
  for (size_t i = 0; i < parts.size(); ++i)
    is_valid = is_valid && add(parts[i], kSizes[i], most[i]);
  if (!is_valid || seconds > kNanosMax / kSecond) return wrong_duration(whole);
  return Duration::nanos(seconds * kSecond);
}

}  // namespace

Result<Duration> parse_duration(std::string_view whole) {
  const std::string_view text = trimmed(whole);
  if (text == "0") return Duration();
  if (!text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos) {
    return two_readings(whole, proffer::text(text, "s"), proffer::text(text, "m"));
  }
  if (text.find_first_of(":-") != std::string_view::npos) return parse_clock(text);
  int64_t nanos = 0;
  size_t last = kUnits.size();  // the index of the unit before; each part has a smaller one
  for (size_t at = 0; at < text.size();) {
    const size_t unit_at = text.find_first_not_of("0123456789.", at);
    if (unit_at == at || unit_at == std::string_view::npos) return wrong_duration(whole);
    const size_t end = std::min(text.find_first_of("0123456789.", unit_at), text.size());
    const size_t unit = unit_of(text.substr(unit_at, end - unit_at));
    const bool is_smaller = last == kUnits.size() || unit > last;
    const std::optional<int64_t> part = unit == kUnits.size() || !is_smaller
                                            ? std::nullopt
                                            : nanos_of(text.substr(at, unit_at - at), unit);
    if (!part || *part > kNanosMax - nanos) return wrong_duration(whole);
    nanos += *part;
    last = unit;
    at = end;
  }
  return text.empty() ? wrong_duration(whole) : Result<Duration>(Duration::nanos(nanos));
}

std::string to_text(Duration duration) {
  int64_t nanos = duration.nanos();
  if (nanos == 0) return "0s";
  if (nanos == std::numeric_limits<int64_t>::min()) return proffer::text(nanos, "ns");
  const std::string sign = nanos < 0 ? "-" : "";
  if (nanos < 0) nanos = -nanos;
  for (const Unit& unit : kUnits) {  // Whole units first: "90s", not "1.5m".
    if (nanos % unit.nanos == 0) {
      const int64_t count = nanos / unit.nanos;
      // A fraction of a larger unit reads better than a large count: 1500ms is 1.5s.
      for (const Unit& larger : kUnits) {
        if (larger.nanos <= unit.nanos || larger.nanos > kSecond || count < 1000) continue;
        const int64_t step = larger.nanos / 1000;
        if (step > 0 && nanos % step == 0 && nanos / step < kAmountMax) {
          return sign + print_milli(nanos / step) + std::string(larger.name);
        }
      }
      return sign + std::to_string(count) + std::string(unit.name);
    }
  }
  return sign + std::to_string(nanos) + "ns";
}

std::ostream& operator<<(std::ostream& out, Duration duration) { return out << to_text(duration); }

}  // namespace proffer
