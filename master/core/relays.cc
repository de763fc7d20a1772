#include "master/core/relays.h"

#include "common/check.h"

namespace proffer::master {

void Relays::add(uint64_t number, RelayedCall call) {
  by_framework_[call.framework].insert(number);
  CHECK(calls_.emplace(number, std::move(call)).second) << "a second relay " << number;
}

std::optional<RelayedCall> Relays::take(uint64_t number, const FrameworkId& framework) {
  const auto found = calls_.find(number);
  if (found == calls_.end() || found->second.framework != framework) return std::nullopt;
  RelayedCall call = std::move(found->second);
  calls_.erase(found);
  const auto of_framework = by_framework_.find(framework);
  of_framework->second.erase(number);
  if (of_framework->second.empty()) by_framework_.erase(of_framework);
  return call;
}

const RelayedCall* Relays::find(uint64_t number) const {
  const auto found = calls_.find(number);
  return found == calls_.end() ? nullptr : &found->second;
}

std::vector<uint64_t> Relays::of(const FrameworkId& framework) const {
  const auto found = by_framework_.find(framework);
  if (found == by_framework_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

size_t Relays::count(const FrameworkId& framework) const {
  const auto found = by_framework_.find(framework);
  return found == by_framework_.end() ? 0 : found->second.size();
}

}  // namespace proffer::master
