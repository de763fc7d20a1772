#pragma once

// Resources of each role's tasks, summed over time, for the history.

#include <array>
#include <map>
#include <vector>

#include "common/ids.h"
#include "common/resources.h"
#include "common/time.h"
#include "proto/history.h"

namespace proffer::master {

__extension__ typedef __int128 RoleUseSum;  // amounts times nanoseconds overflow 64 bits

// Times must not decrease. Exact: the rest of a span below one milli-unit-second is carried over to
// the next span.
class RoleUses {
 public:
  // A task uses these amounts from now on (take), or no longer (give).
  void take(const RoleName& role, const ResourceVector& amounts, Time now);
  void give(const RoleName& role, const ResourceVector& amounts, Time now);

  // Ends a span for each role: the use in it, by role; roles without use are left out.
  std::vector<proto::RoleUse> cut(Time now);

  // False if some role has use to report, now or later.
  bool empty() const { return uses_.empty(); }
  // The resources that tasks of the role use now.
  ResourceVector held(const RoleName& role) const;
  std::vector<RoleName> roles() const;

 private:
  struct Use {
    ResourceVector held = {};
    Time from = {};     // the begin of its span
    Time counted = {};  // the sums cover the time until then
    std::array<RoleUseSum, kResourceKindCount> sums{};
  };
  static void count(Use& use, Time now);

  std::map<RoleName, Use> uses_;
};

}  // namespace proffer::master
