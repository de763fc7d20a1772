// `parse_cron` reads the five fields. `next_fire_time` goes through the spans of the zone with a
// constant offset; within a span `next_match` finds the next local minute.

#include "frameworks/batch/core/cron.h"

#include <algorithm>
#include <array>
#include <span>

#include "common/check.h"
#include "common/text.h"

namespace proffer::batch {
namespace {

constexpr int64_t kMinute = 60;
constexpr int64_t kDay = 24 * 60 * kMinute;
// At most eight years are between two 29ths of February (1896 to 1904, 2096 to 2104).
constexpr int64_t kDaysSearchedMax = 9 * 366;

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// --- local time --------------------------------------------------------------------------------

// Local seconds count from 1970-01-01T00:00 of the zone's clocks.
struct Date {
  int64_t year = 0;
  int64_t month = 0;    // 1 to 12
  int64_t day = 0;      // 1 to 31
  int64_t weekday = 0;  // 0 is Sunday
};
// The date of a day counted from 1970-01-01, a Thursday. Years begin in March here, so that the
// leap day is their last day (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
Date date_of(int64_t day) {
  constexpr int64_t kDaysOf400Years = 146'097;
  constexpr int64_t kDaysTo1970 = 719'468;  // from 0000-03-01
  const int64_t days = day + kDaysTo1970;
  const int64_t era = floor_div(days, kDaysOf400Years);
  const int64_t of_era = days - era * kDaysOf400Years;
  const int64_t year =
      (of_era - of_era / 1'460 + of_era / 36'524 - of_era / 146'096) / 365;  // of the era
  const int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
  const int64_t month = (5 * of_year + 2) / 153;  // from March
  return {.year = 400 * era + year + (month < 10 ? 0 : 1),
          .month = month < 10 ? month + 3 : month - 9,
          .day = of_year - (153 * month + 2) / 5 + 1,
          .weekday = day + 4 - floor_div(day + 4, 7) * 7};
}

std::string two_digits(int64_t number) { return text(number < 10 ? "0" : "", number); }

std::string civil_text(int64_t local) {
  const Date date = date_of(floor_div(local, kDay));
  const int64_t of_day = local - floor_div(local, kDay) * kDay;
  std::string out = text(date.year, "-", two_digits(date.month), "-", two_digits(date.day), "T",
                         two_digits(of_day / 3'600), ":", two_digits(of_day / kMinute % 60));
  if (of_day % kMinute != 0) out += text(":", two_digits(of_day % kMinute));
  return out;
}

// The span of this time: the last that begins at or before it.
size_t span_at(const Zone& zone, int64_t unix_seconds) {
  const auto behind =
      std::upper_bound(zone.offsets.begin(), zone.offsets.end(), unix_seconds,
                       [](int64_t time, const ZoneOffset& offset) { return time < offset.from; });
  return behind == zone.offsets.begin() ? 0
                                        : static_cast<size_t>(behind - zone.offsets.begin()) - 1;
}

// --- fields ------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 12> kMonthNames = {"jan", "feb", "mar", "apr", "may", "jun",
                                                          "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kDayNames = {"sun", "mon", "tue", "wed",
                                                       "thu", "fri", "sat"};

struct Field {
  std::string_view name;
  int64_t min;
  int64_t max;
  std::span<const std::string_view> names;  // of min and the numbers after it
};
constexpr Field kMinutes = {"minute", 0, 59, {}};
constexpr Field kHours = {"hour", 0, 23, {}};
constexpr Field kDays = {"day of month", 1, 31, {}};
constexpr Field kMonths = {"month", 1, 12, kMonthNames};
constexpr Field kWeekdays = {"day of week", 0, 7, kDayNames};  // 7 is Sunday too

Error wrong(const Field& field, std::string_view given) {
  return Error::invalid_argument(
             text("the ", field.name, " ", quoted(given), " of a cron expression is invalid"))
      .with_hint(text(
          "write *, a number from ", field.min, " to ", field.max,
          ", a range 2-5, a step */2 or 2-10/2, or a comma-separated list of these",
          field.names.empty() ? "" : text("; ", field.names[0], " and so on are allowed, too")));
}

std::optional<int64_t> number_in(const Field& field, std::string_view given) {
  std::string lower(given);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  for (size_t i = 0; i < field.names.size(); ++i) {
    if (lower == field.names[i]) return field.min + static_cast<int64_t>(i);
  }
  const Result<int64_t> number = parse_whole(field.name, given, field.min, field.max);
  return number ? std::optional(*number) : std::nullopt;
}

std::vector<std::string_view> pieces(std::string_view given, char separator) {
  std::vector<std::string_view> out;
  while (true) {
    const size_t end = given.find(separator);
    out.push_back(given.substr(0, end));
    if (end == std::string_view::npos) return out;
    given.remove_prefix(end + 1);
  }
}

struct FieldSet {
  uint64_t bits = 0;
  bool is_any = false;
};

Result<FieldSet> read_field(const Field& field, std::string_view given) {
  FieldSet set;
  for (const std::string_view item : pieces(given, ',')) {
    const std::vector<std::string_view> stepped = pieces(item, '/');
    const std::vector<std::string_view> range = pieces(stepped[0], '-');
    if (stepped.size() > 2 || range.size() > 2) return wrong(field, given);
    int64_t first = field.min;
    int64_t last = field.max;
    if (stepped[0] == "*") {
      set.is_any = true;
    } else {
      const std::optional<int64_t> begin = number_in(field, range[0]);
      const std::optional<int64_t> end = range.size() == 2 ? number_in(field, range[1]) : begin;
      if (!begin || !end || *end < *begin) return wrong(field, given);
      first = *begin;
      // "5/15" means "5-59/15", as in most crons.
      if (range.size() == 2 || stepped.size() == 1) last = *end;
    }
    int64_t step = 1;
    if (stepped.size() == 2) {
      const Result<int64_t> told = parse_whole("step", stepped[1], 1, field.max);
      if (!told) return wrong(field, given);
      step = *told;
    }
    for (int64_t number = first; number <= last; number += step) set.bits |= uint64_t{1} << number;
  }
  return set;
}

Result<std::string_view> expanded(std::string_view name) {
  struct Row {
    std::string_view name;
    std::string_view text;
  };
  constexpr std::array<Row, 7> kNames = {{{"@hourly", "0 * * * *"},
                                          {"@daily", "0 0 * * *"},
                                          {"@midnight", "0 0 * * *"},
                                          {"@weekly", "0 0 * * 0"},
                                          {"@monthly", "0 0 1 * *"},
                                          {"@yearly", "0 0 1 1 *"},
                                          {"@annually", "0 0 1 1 *"}}};
  for (const Row& row : kNames) {
    if (row.name == name) return row.text;
  }
  return Error::invalid_argument(text("the cron expression ", quoted(name), " is unknown"))
      .with_hint(
          "write @hourly, @daily, @weekly, @monthly or @yearly, or five fields: minute, "
          "hour, day of month, month, day of week");
}

// --- matches -----------------------------------------------------------------------------------

bool matches_day(const Cron& cron, const Date& date) {
  if ((cron.months >> date.month & 1) == 0) return false;
  const bool day = (cron.days >> date.day & 1) != 0;
  const bool of_week = (cron.weekdays >> date.weekday & 1) != 0;
  if (cron.any_day || cron.any_weekday) return day && of_week;
  return day || of_week;
}

// The first matching local minute at or after `from`, before `end`.
std::optional<int64_t> next_match(const Cron& cron, int64_t from, int64_t end) {
  const int64_t first = floor_div(from + kMinute - 1, kMinute) * kMinute;
  for (int64_t day = floor_div(first, kDay), searched = 0;
       day * kDay < end && searched < kDaysSearchedMax; ++day, ++searched) {
    if (!matches_day(cron, date_of(day))) continue;
    for (int64_t hour = 0; hour < 24; ++hour) {
      const int64_t hour_begin = day * kDay + hour * 60 * kMinute;
      if ((cron.hours >> hour & 1) == 0 || hour_begin + 60 * kMinute <= first) continue;
      for (int64_t minute = 0; minute < 60; ++minute) {
        const int64_t at = hour_begin + minute * kMinute;
        if (at < first || (cron.minutes >> minute & 1) == 0) continue;
        return at < end ? std::optional(at) : std::nullopt;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::string local_text(const Zone& zone, int64_t unix_seconds) {
  CHECK(!zone.offsets.empty());
  return civil_text(unix_seconds + zone.offsets[span_at(zone, unix_seconds)].offset);
}

std::string utc_text(int64_t unix_seconds) { return civil_text(unix_seconds) + "Z"; }

Result<Cron> parse_cron(std::string_view given) {
  const std::string_view whole = trimmed(given);
  if (whole.starts_with('@')) {
    const Result<std::string_view> fields = expanded(whole);
    if (!fields) return fields.error();
    return parse_cron(*fields);
  }
  std::vector<std::string_view> fields;
  for (const std::string_view piece : pieces(whole, ' ')) {
    for (const std::string_view field : pieces(piece, '\t')) {
      if (!field.empty()) fields.push_back(field);
    }
  }
  if (fields.size() != 5) {
    return Error::invalid_argument(text("the cron expression ", quoted(given), " has ",
                                        fields.size(), " fields, not five"))
        .with_hint(
            text(whole.starts_with('R') && whole.find('/') != whole.npos
                     ? "intervals of ISO 8601, as Chronos has them, are not taken: for each day "
                       "write @daily, or "
                 : fields.size() > 5 ? "leave seconds and years out: "
                                     : "",
                 "write minute, hour, day of month, month and day of week: 30 3 * * mon-fri"));
  }
  const std::array<const Field*, 5> kinds = {&kMinutes, &kHours, &kDays, &kMonths, &kWeekdays};
  std::array<FieldSet, 5> sets;
  for (size_t i = 0; i < kinds.size(); ++i) {
    Result<FieldSet> set = read_field(*kinds[i], fields[i]);
    if (!set) return std::move(set).error();
    sets[i] = *set;
  }
  Cron cron;
  cron.minutes = sets[0].bits;
  cron.hours = static_cast<uint32_t>(sets[1].bits);
  cron.days = static_cast<uint32_t>(sets[2].bits);
  cron.months = static_cast<uint16_t>(sets[3].bits);
  cron.weekdays = static_cast<uint8_t>((sets[4].bits | sets[4].bits >> 7) & 0x7F);
  cron.any_hour = sets[1].is_any;
  cron.any_day = sets[2].is_any;
  cron.any_weekday = sets[4].is_any;
  constexpr int64_t kYear2000 = 946'684'800;  // a leap year follows soon
  if (!next_match(cron, kYear2000, kYear2000 + kDaysSearchedMax * kDay)) {
    return Error::invalid_argument(
               text("the cron expression ", quoted(given), " never matches a date"))
        .with_hint("check its day of month and its month");
  }
  return cron;
}

std::optional<int64_t> next_fire_time(const Cron& cron, const Zone& zone, int64_t after) {
  if (zone.offsets.empty()) return std::nullopt;
  const int64_t start = std::max(after + 1, zone.begin);
  for (size_t i = span_at(zone, start); i < zone.offsets.size(); ++i) {
    const ZoneOffset& span = zone.offsets[i];
    const int64_t end = i + 1 < zone.offsets.size() ? zone.offsets[i + 1].from : zone.end;
    int64_t local_from = std::max(start, span.from) + span.offset;
    if (i > 0) {
      const int64_t was_local = span.from + zone.offsets[i - 1].offset;
      const int64_t is_local = span.from + span.offset;
      // Clocks went forward: skipped times are due now.
      if (is_local > was_local && start <= span.from && next_match(cron, was_local, is_local)) {
        return span.from;
      }
      // Clocks went back: times before their old value have already fired.
      if (is_local < was_local && !cron.any_hour) local_from = std::max(local_from, was_local);
    }
    if (const std::optional<int64_t> match = next_match(cron, local_from, end + span.offset)) {
      return *match - span.offset;
    }
  }
  return std::nullopt;
}

}  // namespace proffer::batch
