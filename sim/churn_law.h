#pragma once

// Laws for tenants while tasks come and go: each role has its entitlement except for its largest
// task; tasks that fit run; a large task in a guaranteed role starts; and in the end no task is
// preempted any more. Each law has a time limit, since the tasks of others are in the way for a
// while. Entitlements assume one pool: on one machine they are a law; on several machines, which
// are fragmented, a role has at least half of them.

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/result.h"
#include "sim/guarantee_law.h"

namespace proffer::sim {

// Tasks run for at most 20 s; an ask that has waited for claim_after may then wait for a whole
// machine.
inline constexpr Duration kBelowMax = seconds(90);
inline constexpr Duration kBelowOnSeveralMax = minutes(3);
inline constexpr Duration kRoomMax = seconds(60);
// The limit for resources that are set aside for another ask.
inline constexpr Duration kRoomAsideMax = minutes(6);
inline constexpr Duration kTurnMax = seconds(180);
// After this time with the same tenants, more than this many notices are too many. (For a guarantee
// there may be more, since a guarantee is met at once.)
inline constexpr Duration kSettledAfter = minutes(4);
inline constexpr int64_t kNoticesMax = 4;

class ChurnLaw {
 public:
  // `tenants`: the number of frameworks that want resources while nothing changes. `lends`: unused
  // guarantees may be lent.
  ChurnLaw(size_t tenants, bool lends) : tenants_(tenants), lends_(lends) {}

  // The violations at this moment, given the earlier ones. `notices`: number of notices sent so
  // far. Call it once a second. O(asks * agents + tasks).
  std::vector<Violation> look(const MasterWord& word, int64_t notices, Time now);

 private:
  // For each key for which a condition holds: since when.
  template <class Key>
  using Since = std::map<Key, Time>;
  using AskKey = std::pair<FrameworkId, AskName>;

  const size_t tenants_;
  const bool lends_;
  Since<RoleName> below_;
  Since<AskKey> has_room_;
  Since<AskKey> has_room_aside_;
  Since<AskKey> has_turn_;
  std::optional<Time> same_since_;
  std::optional<int64_t> notices_then_;
};

}  // namespace proffer::sim
