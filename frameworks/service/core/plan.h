#pragma once

// What an app's spec makes of what runs: plan_app() is all that this framework decides, as one
// const function of the app and the time. What it says is carried out by app_launches.cc,
// service_core.cc and the master; what came of it is seen by the next plan.
//
// An app has as many slots as it wants instances. A slot has one instance at a time because of us:
// the next is launched when the one before has ended, or when nobody can reach it. If that one
// comes back, one of the two is killed. One that was revoked gets its replacement while it still
// runs, and goes when that is ready; at its deadline it goes anyway. So does one of an older
// version where an update may surge, and beside a canary it stays.
//
// A daemon has a slot for each agent that has an instance of it, or has just had one (daemons.cc).

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/service/core/records.h"

namespace proffer::service {

// Restarts of a slot are this far apart: doubled with each failure, from the first to the last.
inline constexpr Duration kBackoffMin = seconds(1);
inline constexpr Duration kBackoffMax = minutes(1);
// After an instance was ready for this long, its earlier failures no longer count.
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
  std::string host = {};          // where its ports are reached, as its offer said; or empty
  bool has_health_check = false;  // its version has; it is ready only when told healthy
  std::optional<bool> healthy = {};
  // As its executor says; none: it says nothing, and running is enough.
  std::optional<bool> told_ready = {};
  std::string why_not_ready = {};      // as told last; for people
  std::string why_unhealthy = {};      // likewise: an HTTP status, a refused connection, a time-out
  bool kill_asked = false;             // by us: it does not count any more
  std::optional<Time> leaves_at = {};  // it was ready, and is told to end then
  Time kill_said_at = {};
  bool was_unhealthy = false;  // which is why we asked
  bool revoked = false;        // it is to end by a time that the master has told: then,
  Time revoked_until = {};     // and it is killed
  Time revoke_leaves_at = {};  // it leaves the proxies, should its replacement not be ready by then
  bool revoke_told = false;    // in this session
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
  // Clients may use it. What was ready when a scheduler of before ended is taken to be so until the
  // cluster has told of it.
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

// How the instances of one version went in a slot.
struct Attempts {
  int32_t failures = 0;         // in a row
  Time not_before = {};         // then it may be launched again
  std::string why = {};         // how the last instance ended, if it did so by itself
  std::string last_words = {};  // the last line of its stderr; of the app's owner, not kept
  bool operator==(const Attempts&) const = default;
};

struct Slot {
  Attempts present = {};                 // of the app's version
  Attempts before = {};                  // of the ready version, while an update is held
  AgentId agent = {};                    // of a daemon: its instances are of this one
  std::optional<Time> empty_since = {};  // of a daemon: nothing is in it, seen by a plan
  std::optional<Time> stuck_since = {};  // of a daemon: its agent does not meet the new version
  bool operator==(const Slot&) const = default;
};

struct App : AppRecord {
  Versions earlier = {};  // than the present one
  std::map<int64_t, Slot> slots = {};
  std::map<TaskId, Instance> instances = {};
  std::map<int64_t, std::set<TaskId>> blocks = {};  // of instances, by number (records.h)

  Instance& add(const TaskId& task, Instance instance);
  void remove(const TaskId& task);
  // Of a block; none if it is empty.
  const std::set<TaskId>& tasks_of_block(int64_t number) const;

  int64_t wanted() const {
    if (stopping) return 0;
    return spec.daemon ? static_cast<int64_t>(slots.size()) : spec.instances;
  }
  // Whether an update to another version is under way, or was given up.
  bool is_updating() const { return ready_version != 0 && ready_version != version; }
  // The versions that instances may have for now: the present one, and while an update is held the
  // one before it.
  bool is_wanted(uint64_t number) const {
    return number == version || (hold && number == ready_version && earlier.count(number) > 0);
  }
  // Of a version that is_wanted().
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
  std::map<int64_t, uint64_t> launches = {};  // by slot, the version of the instance it wants now
  // Slots in which an instance of an older version may be beside one of the present version.
  std::set<int64_t> shared = {};
  int64_t updated = 0;    // slots on whose instance of the present version one can count
  bool is_whole = false;  // all slots are such, and nothing else is in them
  // The update waits for replacements of revoked instances only: that is not its fault.
  bool waits_for_revoked = false;
  std::optional<Time> look_again = {};  // when time alone changes the plan
  std::string why = {};                 // what the app waits for, if so; for people
  std::string last_words = {};          // of the instance whose end it names
};

// What is to be done now. With `is_settled` false it is not yet known what runs (the session is
// young): nothing that is ready is killed for an update. O(instances · log instances).
//
// Never because of it: fewer than instances - max_unavailable slots with a ready instance that is
// not revoked, while more were (a kill of a revoked one just before its time is over aside); two
// instances in one slot, but for one that was revoked and its replacement, and for one of an older
// version in max_surge slots at most, or in as many as have a canary.
Plan plan_app(const App& app, Time now, bool is_settled);

// When a slot whose instance has failed `failures` times in a row may be launched again.
Duration backoff(int32_t failures);

// Slots with a ready instance.
int64_t ready_slots(const App& app);

}  // namespace proffer::service
