#pragma once

// What an app's spec makes of what runs: plan_app() is all that this framework decides, as one
// const function of the app and the time. What it says is carried out by app_launches.cc,
// service_core.cc and the master; what came of it is seen by the next plan.
//
// An app has as many slots as it wants instances. A slot has one instance at a time because of us:
// the next is launched when the one before has ended, or when nobody can reach it. If that one
// comes back, one of the two is killed. One that was revoked gets its replacement while it still
// runs, and goes when that is ready; at its deadline it goes anyway.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/service/core/app.h"

namespace proffer::service {

// Restarts of a slot are this far apart: doubled with each failure, from the first to the last.
inline constexpr Duration kBackoffMin = seconds(1);
inline constexpr Duration kBackoffMax = minutes(1);
// An instance that was ready for so long has no failures behind it.
inline constexpr Duration kForgivenAfter = seconds(30);
// For how long a new instance runs until an update goes on to the next, if neither a health check
// nor its executor says when it is ready: agents of before readiness. A command that cannot even
// start would else take all of them down, one after the other.
inline constexpr Duration kSteadyAfter = seconds(2);

enum class InstanceState : uint8_t {
  kPlanned,      // being written down; not launched
  kStaging,      // launched
  kRunning,      // its command runs
  kKilling,      // a kill was asked, by us or by somebody else
  kUnreachable,  // its agent is; it may still run
};
std::string_view to_text(InstanceState state);  // "planned", "staging", …

struct Instance {
  InstanceId id = {};
  InstanceState state = InstanceState::kPlanned;
  AgentId agent = {};
  bool has_health_check = false;  // its version has; it is ready only when told healthy
  std::optional<bool> healthy = {};
  // As its executor says; none: it says nothing, and running is enough.
  std::optional<bool> told_ready = {};
  std::string why_not_ready = {};  // as told last; for people
  bool kill_asked = false;         // by us: it does not count any more
  Time kill_said_at = {};
  bool was_unhealthy = false;  // which is why we asked
  bool revoked = false;        // it is to end by a time that the master has told
  // Its record was found at the start, and nobody has told of it yet.
  bool unconfirmed = false;
  Time launched_at = {};
  std::optional<Time> ready_since = {};
  std::map<std::string, uint16_t> ports = {};

  // It does its work: it runs, is ready and is healthy, as far as anybody looks.
  bool is_ready() const {
    return state == InstanceState::kRunning && !kill_asked && !unconfirmed &&
           told_ready != std::optional(false) &&
           (has_health_check ? healthy == std::optional(true) : healthy != std::optional(false));
  }
  bool is_unhealthy() const {
    return state == InstanceState::kRunning && !kill_asked && healthy == std::optional(false);
  }
  bool is_ending() const { return kill_asked || state == InstanceState::kKilling; }
  bool operator==(const Instance&) const = default;
};

struct Slot {
  int32_t failures = 0;  // in a row, of this version
  Time not_before = {};  // then it may be launched again
  std::string why = {};  // how its last instance ended, if it did so by itself
  bool operator==(const Slot&) const = default;
};

struct App {
  AppSpec spec = {};
  uint64_t version = 1;
  bool stopping = false;   // its instances end, then it is forgotten
  std::string owner = {};  // that its instances run as; empty: the framework's user
  std::map<int64_t, Slot> slots = {};
  std::map<TaskId, Instance> instances = {};

  int64_t wanted() const { return stopping ? 0 : spec.instances; }
};

enum class KillReason : uint8_t { kScaledDown, kSurplus, kUnhealthy, kOutdated, kReplaced };
std::string_view to_text(KillReason reason);  // "scaled down", …

struct Kill {
  TaskId task = {};
  KillReason reason = KillReason::kSurplus;
  bool operator==(const Kill&) const = default;
};

struct Plan {
  std::vector<int64_t> dropped_slots = {};
  std::vector<int64_t> added_slots = {};
  std::vector<Kill> kills = {};
  std::vector<int64_t> launches = {};   // slots that want an instance now
  std::optional<Time> look_again = {};  // when time alone changes the plan
  std::string why = {};                 // what the app waits for, if so; for people
};

// What is to be done now. With `is_settled` false it is not yet known what runs (the session is
// young): nothing that is ready is killed for an update. O(instances · log instances).
//
// Never because of it: fewer than instances - max_unavailable ready slots, while more were; two
// instances in one slot, but for one that was revoked and its replacement.
Plan plan_app(const App& app, Time now, bool is_settled);

// When a slot whose instance has failed `failures` times in a row may be launched again.
Duration backoff(int32_t failures);

// Slots with a ready instance.
int64_t ready_slots(const App& app);

}  // namespace proffer::service
