#include "net/strangers.h"

#include <algorithm>

namespace proffer {

int64_t Strangers::held_against(const Row& row, Time now) {
  const int64_t forgiven = (now - row.at).millis() * kStrangersPerSecond / 1'000;
  return std::max<int64_t>(0, row.refused - forgiven);
}

void Strangers::refused(const std::string& address, Time now) {
  Row& row = rows_[address];
  oldest_.erase({row.at, address});
  // No more than the burst is held against it: an address that has stopped is free again soon.
  row.refused = std::min(held_against(row, now) + 1, kStrangersBurst);
  row.at = now;
  oldest_.emplace(now, address);
  if (rows_.size() <= kStrangerAddressesMax) return;
  rows_.erase(oldest_.begin()->second);
  oldest_.erase(oldest_.begin());
}

bool Strangers::may_come(const std::string& address, Time now) const {
  const auto found = rows_.find(address);
  return found == rows_.end() || held_against(found->second, now) < kStrangersBurst;
}

}  // namespace proffer
