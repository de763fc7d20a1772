// The generic cell rate algorithm (ITU-T I.371): of each name only the time is kept at which its
// bucket is full again.

#include "net/allowances.h"

#include <algorithm>

namespace proffer {

Allowances::Allowances(Rate rate)
    : one_(nanoseconds(1'000'000'000 / rate.per_second)), all_(one_ * rate.burst) {}

void Allowances::use(const std::string& name, int64_t count, Time now) {
  Time& full_at = full_at_[name];
  order_.erase({full_at, name});
  full_at = std::min(std::max(full_at, now) + one_ * count, now + all_ + one_ * (count - 1));
  order_.emplace(full_at, name);
  if (full_at_.size() <= kAllowancesMax) return;
  full_at_.erase(order_.begin()->second);
  order_.erase(order_.begin());
}

bool Allowances::has_left(const std::string& name, Time now) const {
  const auto found = full_at_.find(name);
  return found == full_at_.end() || found->second + one_ <= now + all_;
}

}  // namespace proffer
