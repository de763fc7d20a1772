#pragma once

// The difference between an app's spec and its running instances. plan_app() makes all decisions of
// this framework, as one const function of the app and the time. app_launches.cc, service_core.cc
// and the master carry the plan out; the next plan sees the result.
//
// An app has as many slots as it wants instances. A slot normally has one instance: the next is
// launched when the previous one has ended or is unreachable. If that one comes back, one of the
// two is killed. A revoked instance gets its replacement while it still runs, and is killed when
// the replacement is ready, or at its deadline. The same holds for an instance of an older version
// where an update may surge; beside a canary it stays.
//
// A daemon has a slot for each agent that has an instance of it, or had one until now (daemons.cc).

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/service/core/records.h"

namespace proffer::service {

// The time between restarts of a slot: it doubles with each failure, from the first value to the
// second.
inline constexpr Duration kBackoffMin = seconds(1);
inline constexpr Duration kBackoffMax = minutes(1);
// After an instance was ready for this long, its earlier failures no longer count.
inline constexpr Duration kForgivenAfter = seconds(30);
// How long a new instance runs until an update continues with the next, if neither a health check
// nor its executor reports readiness (older agents). Otherwise a command that cannot even start
// would take all instances down, one after the other.
inline constexpr Duration kSteadyAfter = seconds(2);

enum class InstanceState : uint8_t {
  kPlanned,      // being written; not launched
  kStaging,      // launched
  kRunning,      // its command runs
  kKilling,      // a kill was requested, by this framework or by another party
  kUnreachable,  // its agent is unreachable; it may still run
};
std::string_view to_text(InstanceState state);  // "planned", "staging", …

struct Instance {
  InstanceId id = {};
  InstanceState state = InstanceState::kPlanned;
  AgentId agent = {};
  std::string host = {};          // the host of its ports, from its offer; may be empty
  bool has_health_check = false;  // its version has one; it is ready only when reported healthy
  std::optional<bool> healthy = {};
  // Reported by its executor; none: not reported, and running is enough.
  std::optional<bool> told_ready = {};
  std::string why_not_ready = {};      // as last reported; for people
  std::string why_unhealthy = {};      // as last reported: an HTTP status, a timeout …
  bool kill_asked = false;             // by this framework: the instance no longer counts
  std::optional<Time> leaves_at = {};  // it was ready, and is killed at this time
  Time kill_said_at = {};
  bool was_unhealthy = false;  // this is the reason for the kill
  bool revoked = false;        // the master has revoked it: it must end by revoked_until,
  Time revoked_until = {};     // and is then killed
  Time revoke_leaves_at = {};  // it leaves the proxies then at the latest
  bool revoke_told = false;    // the notice was received in this session
  // Its record was found at the start, and no update of it has arrived yet.
  bool unconfirmed = false;
  Time launched_at = {};
  std::optional<Time> ready_since = {};
  std::map<std::string, uint16_t> ports = {};

  // It does its work: it runs, and it is ready and healthy as far as this is tested.
  bool is_ready() const {
    return state == InstanceState::kRunning && !kill_asked && !unconfirmed &&
           told_ready != std::optional(false) &&
           (has_health_check ? healthy == std::optional(true) : healthy != std::optional(false));
  }
  // Clients may use it. An instance that was ready when an earlier scheduler ended counts as ready
  // until its first update.
  bool is_in_service() const {
    const bool was_ready = (has_health_check ? healthy : told_ready) == std::optional(true);
    return is_ready() || (unconfirmed && was_ready);
  }
  bool is_unhealthy() const {
    return state == InstanceState::kRunning && !kill_asked && healthy == std::optional(false);
  }
  bool is_ending() const { return kill_asked || state == InstanceState::kKilling; }
  bool operator==(const Instance&) const = default;
};

// The history of one version's instances in a slot.
struct Attempts {
  int32_t failures = 0;         // consecutive failures
  Time not_before = {};         // the earliest time for the next launch
  std::string why = {};         // how the last instance ended, if it ended by itself
  std::string last_words = {};  // the last line of its stderr; only for the app's owner, not stored
  bool operator==(const Attempts&) const = default;
};

struct Slot {
  Attempts present = {};                 // with the app's present version
  Attempts before = {};                  // with the ready version, while an update is held
  AgentId agent = {};                    // for a daemon: the agent of its instances
  std::optional<Time> empty_since = {};  // for a daemon: since when a plan saw it empty
  std::optional<Time> stuck_since = {};  // for a daemon: its agent does not fit the new version
  bool operator==(const Slot&) const = default;
};

struct App : AppRecord {
  Versions earlier = {};  // earlier than the present one
  std::map<int64_t, Slot> slots = {};
  std::map<TaskId, Instance> instances = {};
  std::map<int64_t, std::set<TaskId>> blocks = {};  // instances by block number (records.h)

  Instance& add(const TaskId& task, Instance instance);
  void remove(const TaskId& task);
  // The instances of a block; empty if there are none.
  const std::set<TaskId>& tasks_of_block(int64_t number) const;

  int64_t wanted() const {
    if (stopping) return 0;
    return spec.daemon ? static_cast<int64_t>(slots.size()) : spec.instances;
  }
  // True if an update to another version is in progress, or was given up.
  bool is_updating() const { return ready_version != 0 && ready_version != version; }
  // The versions that instances may have now: the present one, and while an update is held also the
  // ready one.
  bool is_wanted(uint64_t number) const {
    return number == version || (hold && number == ready_version && earlier.count(number) > 0);
  }
  // The spec of a version that is_wanted().
  AppSpec spec_of(uint64_t number) const {
    return number == version ? spec : with_task_of(earlier.at(number).spec, spec);
  }
  Attempts* attempts(int64_t slot, uint64_t number) {
    const auto found = slots.find(slot);
    if (found == slots.end() || !is_wanted(number)) return nullptr;
    return number == version ? &found->second.present : &found->second.before;
  }
};

enum class KillReason : uint8_t {
  kScaledDown,
  kSurplus,
  kUnhealthy,
  kOutdated,
  kReplaced,
  kRevoked,
};
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
  std::map<int64_t, uint64_t> launches = {};  // by slot: the version of the instance to launch now
  // Slots in which an instance of an older version may run beside one of the present version.
  std::set<int64_t> shared = {};
  int64_t updated = 0;    // slots with a dependable instance of the present version
  bool is_whole = false;  // this holds for all slots, and they contain nothing else
  // The update waits only for replacements of revoked instances, so the update has not failed.
  bool waits_for_revoked = false;
  std::optional<Time> look_again = {};  // the next time at which the plan changes without an event
  std::string why = {};                 // what the app waits for, if anything; for people
  std::string last_words = {};          // of the instance whose end `why` names
};

// Returns the actions that are due now. With `is_settled` false, the running instances are not all
// known (the session is young), and no ready instance is killed for an update. O(instances · log
// instances).
//
// A plan never causes fewer than instances - max_unavailable slots with a ready instance that is
// not revoked, if there were more (except for the kill of a revoked one just before its deadline).
// It never causes two instances in one slot, except a revoked one and its replacement, or one of an
// older version and a new one, in at most max_surge slots or in those with a canary.
Plan plan_app(const App& app, Time now, bool is_settled);

// The pause before the next launch in a slot after `failures` consecutive failures.
Duration backoff(int32_t failures);

// Slots with a ready instance.
int64_t ready_slots(const App& app);

}  // namespace proffer::service
