#pragma once

// When a scheduled job starts: a cron expression and a time zone give its *fire times*.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/time.h"

namespace proffer::batch {

// --- time zones --------------------------------------------------------------------------------

// From `from` on, seconds since the Unix epoch, local time is `offset` seconds ahead of UTC.
struct ZoneOffset {
  int64_t from = 0;
  int32_t offset = 0;
  bool operator==(const ZoneOffset&) const = default;
};
inline constexpr int32_t kZoneOffsetMax = 24 * 3'600;

// A time zone within [begin, end), as seconds since the Unix epoch. The shell reads it from the
// system's time zone database.
struct Zone {
  int64_t begin = 0;
  int64_t end = 0;
  std::vector<ZoneOffset> offsets = {};  // rising; the first one holds from `begin` on
  bool operator==(const Zone&) const = default;
};

// "2026-11-25T03:00", "2026-11-25T03:00:07": the local time of a point in time within the zone.
std::string local_text(const Zone& zone, int64_t unix_seconds);
// "2026-11-25T02:30Z".
std::string utc_text(int64_t unix_seconds);

// --- cron expressions --------------------------------------------------------------------------

// Sets of numbers as bits. As in every cron, a day matches if it matches the day of the month or
// the day of the week. If one of the two is "*", the other one decides.
struct Cron {
  uint64_t minutes = 0;      // bits 0 to 59
  uint32_t hours = 0;        // bits 0 to 23
  uint32_t days = 0;         // bits 1 to 31
  uint16_t months = 0;       // bits 1 to 12
  uint8_t weekdays = 0;      // bits 0 to 6, from Sunday on
  bool any_hour = false;     // "*", or "*/N"
  bool any_day = false;      // likewise
  bool any_weekday = false;  // likewise
  bool operator==(const Cron&) const = default;
};

// The five fields of crontab(5): minute, hour, day of month, month, day of week; "*", numbers,
// ranges, lists, steps, and English names of months and days in three letters. Or @hourly, @daily,
// @midnight, @weekly, @monthly, @yearly, @annually. Errors: kInvalidArgument names the field, and
// an expression that never matches ("0 0 30 2 *").
Result<Cron> parse_cron(std::string_view text);

// The first fire time after `after` and before `zone.end`, as seconds since the Unix epoch; none if
// there is none. O(days between them), and O(log zone.offsets).
//
// Local times that do not exist, because clocks go forward, fire once, when the clocks have gone
// forward. Local times that come twice, because clocks go back, fire the first time only. If the
// hour is "*" or "*/N", the schedule means an interval, and both fire.
std::optional<int64_t> next_fire_time(const Cron& cron, const Zone& zone, int64_t after);

}  // namespace proffer::batch
