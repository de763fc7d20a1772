#include "master/core/brake.h"

#include <algorithm>

#include "common/check.h"

namespace proffer::master {

int64_t Brake::most(size_t agents) const {
  const int64_t part = (static_cast<int64_t>(agents) * options_.percent + 99) / 100;
  return std::max(options_.floor, part);
}

bool Brake::pass(size_t agents, Time now) {
  if (lifted_until(now) || options_.percent >= 100) return true;
  while (!passed_.empty() && passed_.front() + options_.period <= now) passed_.pop_front();
  if (static_cast<int64_t>(passed_.size()) >= most(agents)) return false;
  passed_.push_back(now);
  return true;
}

Time Brake::next() const {
  CHECK(!passed_.empty()) << "the brake holds agents back, but none was given up";
  return passed_.front() + options_.period;
}

std::optional<Time> Brake::lifted_until(Time now) const {
  return lifted_until_ > now ? std::optional(lifted_until_) : std::nullopt;
}

}  // namespace proffer::master
