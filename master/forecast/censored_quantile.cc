#include "master/forecast/censored_quantile.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace proffer::master {
namespace {

// The weight of all values; parts are fractions of it.
constexpr int64_t kWhole = 1'000'000'000'000;

}  // namespace

int64_t censored_quantile(const std::vector<int64_t>& known,
                          const std::vector<int64_t>& larger_than, int64_t thousandths) {
  // Among equal values the known ones come first, since censored values are larger.
  std::vector<std::pair<int64_t, bool>> values;
  values.reserve(known.size() + larger_than.size());
  for (const int64_t value : known) values.emplace_back(value, false);
  for (const int64_t value : larger_than) values.emplace_back(value, true);
  std::sort(values.begin(), values.end());
  auto left = static_cast<int64_t>(values.size());
  CHECK(left > 0 && left <= kCensoredValuesMax) << left;
  // Includes the rounding errors of all steps.
  const int64_t wanted = kWhole / 1'000 * (1'000 - thousandths) + left;
  int64_t larger = kWhole;  // the part of all values that is larger
  for (const auto& [value, goes_on] : values) {
    if (!goes_on) {
      larger -= larger / left;
      if (larger <= wanted) return value;
    }
    --left;
  }
  return values.back().first;
}

}  // namespace proffer::master
