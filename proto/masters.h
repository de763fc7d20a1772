#pragma once

// The masters of one cluster, as values: those that have led, and those that run now.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/time.h"

namespace proffer::proto {

// The id of a master's data directory, 32 hexadecimal digits, made with it. So a master with a new
// address is the same master, and one that lost its disk, and so its history, is another.
using MasterId = Id<struct MasterTag>;

// A master that has led. `since` is from its own clock, `until` from its successor's.
struct LedMaster {
  MasterId master = {};
  std::string name = {};           // its address: host:port, or the path of its socket
  LeaderEpoch first = {};          // the first epoch in which it led
  LeaderEpoch last = {};           // the last epoch in which it led
  Time since = {};                 // beginning of `first`
  std::optional<Time> until = {};  // when the next master led; none: no other has
  bool operator==(const LedMaster&) const = default;
};
// The most masters that a cluster remembers. The one that led longest ago is forgotten first.
inline constexpr size_t kLedMastersMax = 16;
// The most standbys that are connected to the leader; more are refused.
inline constexpr size_t kStandbysMax = 16;

enum class MasterRole : uint8_t { kLeads, kStandby, kAway };
std::string_view to_text(MasterRole role);
std::optional<MasterRole> parse_master_role(std::string_view text);

struct MasterRow {
  std::string name = {};
  MasterId id = {};
  MasterRole role = MasterRole::kAway;
  std::optional<Time> since = {};  // in this role since then; none: since before this leader began
  LeaderEpoch first = {};          // as in LedMaster; none: it has not led
  LeaderEpoch last = {};
  std::optional<Time> led_since = {};
  std::optional<Time> led_until = {};
  bool keeps_history = true;  // unknown if it is away
  // For a standby that follows the event log: the number of this leader's events that it lacks.
  std::optional<int64_t> events_behind = {};
  bool operator==(const MasterRow&) const = default;
};

// The argument of the call "standby", with which a standby reports itself to the leader.
struct StandbyCall {
  MasterId master = {};
  std::string name = {};
  bool keeps_history = false;
  bool operator==(const StandbyCall&) const = default;
};

}  // namespace proffer::proto
