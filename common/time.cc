#include "common/time.h"

#include <array>
#include <ostream>

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
      "as in 500ms, 30s or 1.5h, not ",
      quoted(text)));
}

}  // namespace

Result<Duration> parse_duration(std::string_view whole) {
  const std::string_view text = trimmed(whole);
  if (text == "0") return Duration();
  const size_t end = text.find_first_not_of("0123456789.");
  if (end == 0 || end == std::string_view::npos) return wrong_duration(whole);
  const std::string_view name = text.substr(end);
  for (const Unit& unit : kUnits) {
    if (unit.name != name) continue;
    const std::string_view number = text.substr(0, end);
    const size_t point = number.find('.');
    const Result<int64_t> count =
        parse_whole("the number", number.substr(0, point), 0, kNanosMax / unit.nanos);
    if (!count) return wrong_duration(whole);
    int64_t nanos = *count * unit.nanos;
    if (point != std::string_view::npos) {
      const Result<int64_t> milli = parse_milli(proffer::text('0', number.substr(point)));
      if (!milli || *milli * unit.nanos % 1000 != 0) return wrong_duration(whole);
      nanos += *milli * unit.nanos / 1000;
    }
    if (nanos > kNanosMax) return wrong_duration(whole);
    return Duration::nanos(nanos);
  }
  return wrong_duration(whole);
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
