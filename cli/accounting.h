#pragma once

// The use of roles in a calendar month, summed exactly: for bills.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/resources.h"
#include "common/result.h"
#include "common/time.h"
#include "proto/history.h"

namespace proffer::cli {

// A month in UTC: [from, until).
struct Month {
  std::string name = {};  // "2026-11"
  Time from = {};
  Time until = {};
};
// Errors: kInvalidArgument with what is allowed.
Result<Month> parse_month(std::string_view text);

// Thousandths of a unit times seconds. The memory of a large cluster in a month does not fit in 64
// bits.
__extension__ typedef __int128 Thousandths;
// For CPUs, MiB of memory and of disk, GPUs.
using UseSum = std::array<Thousandths, kResourceKinds.size()>;

struct Accounting {
  Month month = {};
  std::map<RoleName, UseSum> roles = {};  // of tasks directly in each role
  UseSum total = {};
  std::vector<proto::HistoryGap> gaps = {};  // that reach into the month
  // The first known use, which may be before the month. Use before it may have been forgotten.
  std::optional<Time> known_from = {};
};
// Also queried, to see whether the history reaches back to the beginning of the month.
inline constexpr Duration kDaysBefore = hours(24 * 7);

// A period that begins in the month counts in it, since periods of the history end with each hour.
void add(const proto::HistoryPage& page, Accounting& accounting);

// "12.345" for 12345; exact.
std::string decimal(Thousandths value);
// One line for each role, after a line of names. Seconds are exact, hours are rounded down to
// thousandths.
std::string accounting_csv(const Accounting& accounting);
std::string accounting_json(const Accounting& accounting);

}  // namespace proffer::cli
