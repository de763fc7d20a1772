// The generic cell rate algorithm (ITU-T I.371): only the time at which a name's bucket is full
// again is stored.

#include "net/allowances.h"

#include <algorithm>

namespace proffer {

Allowances::Allowances(Rate rate)
    : one_(nanoseconds(1'000'000'000 / rate.per_second)),
      all_(one_ * rate.burst),
      debt_max_(one_ * rate.debt_max) {}

void Allowances::use(const std::string& name, int64_t count, Time now) {
  Time& full_at = full_at_[name];
  order_.erase({full_at, name});
  full_at = std::min(std::max(full_at, now) + one_ * count,
                     now + all_ + std::max(debt_max_, one_ * (count - 1)));
  order_.emplace(full_at, name);
  if (full_at_.size() <= kAllowancesMax) return;
  full_at_.erase(order_.begin()->second);
  order_.erase(order_.begin());
}

void Allowances::give_back(const std::string& name, int64_t count, Time now) {
  const auto found = full_at_.find(name);
  if (found == full_at_.end()) return;
  order_.erase({found->second, name});
  if (found->second - now <= one_ * count) {
    full_at_.erase(found);
    return;
  }
  found->second = found->second - one_ * count;
  order_.emplace(found->second, name);
}

Time Allowances::left_at(const std::string& name, Time now) const {
  const auto found = full_at_.find(name);
  return found == full_at_.end() ? now : std::max(now, found->second + one_ - all_);
}

}  // namespace proffer
