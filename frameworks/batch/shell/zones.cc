#include "frameworks/batch/shell/zones.h"

#include <absl/time/time.h>

#include "common/text.h"

namespace proffer::batch {
namespace {

constexpr int64_t kDay = 24 * 3'600;
constexpr int64_t kDaysBefore = 366;
constexpr int64_t kDaysBehind = 2 * 366;

}  // namespace

Result<Zone> read_zone(const std::string& name, int64_t now) {
  absl::TimeZone zone;
  if (!absl::LoadTimeZone(name, &zone)) {
    return Error::not_found(text("unknown time zone ", quoted(name)))
        .with_hint(
            "use a name in /usr/share/zoneinfo: UTC, Europe/Berlin, America/New_York; if that "
            "directory is missing, install tzdata");
  }
  Zone out{.begin = now - kDaysBefore * kDay, .end = now + kDaysBehind * kDay};
  absl::Time at = absl::FromUnixSeconds(out.begin);
  out.offsets.push_back({.from = out.begin, .offset = zone.At(at).offset});
  absl::TimeZone::CivilTransition transition;
  while (zone.NextTransition(at, &transition)) {
    at = zone.At(transition.to).trans;
    const int64_t from = absl::ToUnixSeconds(at);
    if (from >= out.end) break;
    const int32_t offset = zone.At(at).offset;
    if (offset != out.offsets.back().offset)
      out.offsets.push_back({.from = from, .offset = offset});
  }
  return out;
}

}  // namespace proffer::batch
