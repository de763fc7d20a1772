#include "master/core/role_use.h"

#include <algorithm>

#include "common/check.h"
#include "common/limits.h"

namespace proffer::master {
namespace {

constexpr RoleUseSum kNanosPerSecond = 1'000'000'000;

}  // namespace

void RoleUses::count(Use& use, Time now) {
  CHECK(now >= use.counted);
  const int64_t nanos = (now - use.counted).nanos();
  use.counted = now;
  for (const ResourceKind kind : kResourceKinds) {
    use.sums[static_cast<size_t>(kind)] += RoleUseSum{use.held[kind]} * nanos;
  }
}

void RoleUses::take(const RoleName& role, const ResourceVector& amounts, Time now) {
  const auto [at, is_new] = uses_.try_emplace(role, Use{.held = {}, .from = now, .counted = now});
  count(at->second, now);
  at->second.held += amounts;
}

void RoleUses::give(const RoleName& role, const ResourceVector& amounts, Time now) {
  const auto at = uses_.find(role);
  CHECK(at != uses_.end()) << role.str();
  count(at->second, now);
  at->second.held -= amounts;
}

std::vector<proto::RoleUse> RoleUses::cut(Time now) {
  std::vector<proto::RoleUse> told;
  for (auto at = uses_.begin(); at != uses_.end();) {
    Use& use = at->second;
    count(use, now);
    proto::RoleUse span{.role = at->first, .from = use.from, .until = now, .seconds = {}};
    for (const ResourceKind kind : kResourceKinds) {
      RoleUseSum& sum = use.sums[static_cast<size_t>(kind)];
      const RoleUseSum whole = sum / kNanosPerSecond;
      sum -= whole * kNanosPerSecond;
      span.seconds[kind] = static_cast<int64_t>(std::min(whole, RoleUseSum{kAmountMax}));
    }
    use.from = now;
    if (!span.seconds.is_zero()) told.push_back(std::move(span));
    at = use.held.is_zero() ? uses_.erase(at) : std::next(at);
  }
  return told;
}

ResourceVector RoleUses::held(const RoleName& role) const {
  const auto at = uses_.find(role);
  return at == uses_.end() ? ResourceVector() : at->second.held;
}

std::vector<RoleName> RoleUses::roles() const {
  std::vector<RoleName> roles;
  for (const auto& [role, use] : uses_) roles.push_back(role);
  return roles;
}

}  // namespace proffer::master
