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

__extension__ typedef __int128 RoleUseSum;  // amounts times nanoseconds leave 64 bits

// Times must not go back. Exact: what a span leaves of a milli-unit-second counts in the next one.
class RoleUses {
 public:
  // A task takes so much from now on, or no longer.
  void take(const RoleName& role, const ResourceVector& amounts, Time now);
  void give(const RoleName& role, const ResourceVector& amounts, Time now);

  // Ends a span for each role: the use in it, by role; roles without use are left out.
  std::vector<proto::RoleUse> cut(Time now);

  // Whether some role has something to tell, now or later.
  bool empty() const { return uses_.empty(); }
  // Present resources of the role's tasks.
  ResourceVector held(const RoleName& role) const;
  std::vector<RoleName> roles() const;

 private:
  struct Use {
    ResourceVector held = {};
    Time from = {};     // when its span began
    Time counted = {};  // up to when the sums are made
    std::array<RoleUseSum, kResourceKindCount> sums{};
  };
  static void count(Use& use, Time now);

  std::map<RoleName, Use> uses_;
};

}  // namespace proffer::master
