#pragma once

// What tenants may count on while tasks come and go: that each role has what it is entitled to but
// for its largest task, tasks that fit run, a large task in a guaranteed role starts, and that
// in the end nothing is taken back any more. Each within a bound: for a while the tasks of others
// are in the way. Entitlements are of one pool: on one machine they are a law, on several, which
// are in pieces, a role has at least half of them.

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/result.h"
#include "sim/guarantee_law.h"

namespace proffer::sim {

// Tasks run 20 s at most; an ask that waits for claim_after may wait for all of a machine then.
inline constexpr Duration kBelowMax = seconds(90);
inline constexpr Duration kBelowOnSeveralMax = minutes(3);
inline constexpr Duration kRoomMax = seconds(60);
// Where something is set aside for another; it may not stay so.
inline constexpr Duration kRoomAsideMax = minutes(6);
inline constexpr Duration kTurnMax = seconds(180);
// After so long with the same tenants, more notices than so many are too many. (For a guarantee
// there may be more: who has one waits for nobody.)
inline constexpr Duration kSettledAfter = minutes(4);
inline constexpr int64_t kNoticesMax = 4;

class ChurnLaw {
 public:
  // `tenants`: so many frameworks want something as long as nothing changes. `lends`: whether what
  // is promised to others and not used may be used.
  ChurnLaw(size_t tenants, bool lends) : tenants_(tenants), lends_(lends) {}

  // What is wrong at this moment, with the moments before; `notices` have been sent in all. Asked
  // about once a second. O(asks * agents + tasks).
  std::vector<Violation> look(const MasterWord& word, int64_t notices, Time now);

 private:
  // Since when each of those for which something holds.
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
