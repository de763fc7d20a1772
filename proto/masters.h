#pragma once

// The masters of one cluster, as values: those that have led, and those that are there now.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/time.h"

namespace proffer::proto {

// Of a master's data directory, in 32 hexadecimal digits, and made with it. So a master that is
// reached elsewhere is the same one, and one that lost its disk, and its history with it, is
// another.
using MasterId = Id<struct MasterTag>;

// A master that has led. Its times are of the clocks of those that led: `since` of its own, `until`
// of its successor's.
struct LedMaster {
  MasterId master = {};
  std::string name = {};           // where it was reached: host:port, or the path of its socket
  LeaderEpoch first = {};          // in which it led for the first time
  LeaderEpoch last = {};           // and for the last time
  Time since = {};                 // the beginning of `first`
  std::optional<Time> until = {};  // when the next one led; none: no other has led since
  bool operator==(const LedMaster&) const = default;
};
// Of one cluster. The one that led longest ago is forgotten.
inline constexpr size_t kLedMastersMax = 16;
// Masters that are connected to the leader; more are refused.
inline constexpr size_t kStandbysMax = 16;

enum class MasterRole : uint8_t { kLeads, kStandby, kAway };
std::string_view to_text(MasterRole role);
std::optional<MasterRole> parse_master_role(std::string_view text);

struct MasterRow {
  std::string name = {};
  MasterId id = {};
  MasterRole role = MasterRole::kAway;
  std::optional<Time> since = {};  // in this role; none: since before this leader led
  LeaderEpoch first = {};          // as in LedMaster; none: it has not led
  LeaderEpoch last = {};
  std::optional<Time> led_since = {};
  std::optional<Time> led_until = {};
  bool keeps_history = true;  // of one that is away: not known
  // Of a standby that follows the event log: so many events of this leader it lacks.
  std::optional<int64_t> events_behind = {};
  bool operator==(const MasterRow&) const = default;
};

// The argument of the call "standby": a master that does not lead says to the leader that it is
// there.
struct StandbyCall {
  MasterId master = {};
  std::string name = {};
  bool keeps_history = false;
  bool operator==(const StandbyCall&) const = default;
};

}  // namespace proffer::proto
