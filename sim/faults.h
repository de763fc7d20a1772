#pragma once

// The faults of a run: their kinds, and the plan of one run, which is drawn from its seed in
// advance. A swarm (Groce et al., ISSTA 2012): each seed has its own mix, and most kinds are absent
// from most runs, so that frequent kinds do not hide the others.
//
// A plan is a value. Each kind draws from its own random source and each occurrence has a number,
// so a failing run can be made smaller by leaving out kinds and occurrences: the others stay the
// same.

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "sim/network.h"
#include "sim/world.h"

namespace proffer::sim {

enum class FaultKind : uint8_t {
  // Faults of frames and connections, at a rate.
  kSlow,
  kLost,
  kRepeated,
  kOvertaken,
  kBroken,
  kHalfOpen,
  kSmallQueues,
  // Faults of links and processes, for a while.
  kPartition,
  kOneWay,
  kClog,
  kSlowLink,
  kSlowProcess,
  kMasterFreeze,
  kAgentFreeze,
  kMachineFreeze,
  kSchedulerFreeze,
  kExecutorFreeze,
  // Processes end, and come back.
  kMasterCrash,
  kMasterCrashInStep,
  kAgentCrash,
  kAgentCrashInStep,
  kAgentStop,
  kAgentStopKilling,
  kSchedulerCrash,
  kSchedulerCrashInStep,
  kExecutorCrash,
  kExecutorCrashInStep,
  kStartFailure,
  // Machines and disks.
  kMachineReboot,
  kMasterReboot,
  kDiskFull,
  kDiskBroken,
  kDiskDamaged,
  kMasterDiskFull,
  kMasterDiskBroken,
  // These never heal.
  kAgentCrashForGood,
  kMachineForGood,
  // Actions of operators.
  kDrain,
  kRoleChange,
  kReserve,
  // Kinds are drawn in this order, so new ones come last: the mixes of earlier seeds keep the other
  // kinds.
  kStartsFail,
  // Faults of several masters, only in the workload `masters`.
  kLeaderPaused,
  kSessionExpires,
  kEnsembleSlow,
  // Faults of agents; last for the same reason.
  kRackCut,
  kAgentGone,
  kAgentIdle,
  // A fault of an agent's disk; last for the same reason.
  kCheckpointCut,
  // Adversaries are never drawn, only named.
  kLyingAgent,
  kLyingScheduler,
};

// How often a fault occurs in a run that has its kind.
enum class FaultAmount : uint8_t { kRate, kOnce, kFew, kSome };

struct FaultKindRow {
  FaultKind kind = {};
  std::string_view name = {};
  FaultAmount amount = {};
  std::string_view what = {};
  bool is_by_name_only = false;  // neither drawn nor part of `all`
};

// All kinds; --faults, --help and docs/TESTING.md use these names.
inline constexpr std::array kFaultKinds = {
    FaultKindRow{FaultKind::kSlow, "slow", FaultAmount::kRate,
                 "frames take up to a hundred times longer"},
    FaultKindRow{FaultKind::kLost, "lost", FaultAmount::kRate, "frames are lost"},
    FaultKindRow{FaultKind::kRepeated, "repeated", FaultAmount::kRate, "frames arrive twice"},
    FaultKindRow{FaultKind::kOvertaken, "overtaken", FaultAmount::kRate,
                 "frames arrive after later ones"},
    FaultKindRow{FaultKind::kBroken, "broken", FaultAmount::kRate,
                 "connections break, and each end notices soon"},
    FaultKindRow{FaultKind::kHalfOpen, "half_open", FaultAmount::kRate,
                 "connections break, and one end notices late or when it next sends"},
    FaultKindRow{FaultKind::kSmallQueues, "small_queues", FaultAmount::kOnce,
                 "queues to slow peers hold few frames"},
    FaultKindRow{FaultKind::kPartition, "partition", FaultAmount::kFew,
                 "some machines cannot reach the others; which ones may change"},
    FaultKindRow{FaultKind::kOneWay, "one_way", FaultAmount::kFew,
                 "like partition, in one direction"},
    FaultKindRow{FaultKind::kClog, "clog", FaultAmount::kSome,
                 "links deliver nothing for a while, then everything at once"},
    FaultKindRow{FaultKind::kSlowLink, "slow_link", FaultAmount::kFew, "some links are slow"},
    FaultKindRow{FaultKind::kSlowProcess, "slow_process", FaultAmount::kFew,
                 "a process handles each frame slowly"},
    FaultKindRow{FaultKind::kMasterFreeze, "master_freeze", FaultAmount::kFew,
                 "the master gets SIGSTOP, later SIGCONT"},
    FaultKindRow{FaultKind::kAgentFreeze, "agent_freeze", FaultAmount::kSome, "likewise"},
    FaultKindRow{FaultKind::kMachineFreeze, "machine_freeze", FaultAmount::kFew,
                 "an agent and its executors stop, like a suspended machine"},
    FaultKindRow{FaultKind::kSchedulerFreeze, "scheduler_freeze", FaultAmount::kFew, "likewise"},
    FaultKindRow{FaultKind::kExecutorFreeze, "executor_freeze", FaultAmount::kSome, "likewise"},
    FaultKindRow{FaultKind::kMasterCrash, "master_crash", FaultAmount::kSome, "kill -9"},
    FaultKindRow{FaultKind::kMasterCrashInStep, "master_crash_in_step", FaultAmount::kSome,
                 "a crash before a step is written, durable or sent, or when a part is sent"},
    FaultKindRow{FaultKind::kAgentCrash, "agent_crash", FaultAmount::kSome, "kill -9"},
    FaultKindRow{FaultKind::kAgentCrashInStep, "agent_crash_in_step", FaultAmount::kSome,
                 "a crash before, within or after its records, or amid its actions"},
    FaultKindRow{FaultKind::kAgentStop, "agent_stop", FaultAmount::kSome,
                 "SIGTERM; tasks keep running"},
    FaultKindRow{FaultKind::kAgentStopKilling, "agent_stop_killing", FaultAmount::kSome,
                 "SIGTERM with --tasks_on_exit=kill"},
    FaultKindRow{FaultKind::kSchedulerCrash, "scheduler_crash", FaultAmount::kSome, "kill -9"},
    FaultKindRow{FaultKind::kSchedulerCrashInStep, "scheduler_crash_in_step", FaultAmount::kSome,
                 "a crash between the actions of its driver or of its own code"},
    FaultKindRow{FaultKind::kExecutorCrash, "executor_crash", FaultAmount::kSome,
                 "all processes of an executor's session end"},
    FaultKindRow{FaultKind::kExecutorCrashInStep, "executor_crash_in_step", FaultAmount::kSome,
                 "a crash between the actions of its driver"},
    FaultKindRow{FaultKind::kStartFailure, "start_failure", FaultAmount::kRate,
                 "executors cannot be started"},
    FaultKindRow{FaultKind::kMachineReboot, "machine_reboot", FaultAmount::kFew,
                 "an agent's machine loses power, and unsynced writes"},
    FaultKindRow{FaultKind::kMasterReboot, "master_reboot", FaultAmount::kFew,
                 "the master's machine loses power; its peers get no notice"},
    FaultKindRow{FaultKind::kDiskFull, "disk_full", FaultAmount::kFew,
                 "an agent's checkpoint cannot be written for a while"},
    FaultKindRow{FaultKind::kDiskBroken, "disk_broken", FaultAmount::kFew,
                 "like disk_full, and it cannot be synced"},
    FaultKindRow{FaultKind::kDiskDamaged, "disk_damaged", FaultAmount::kOnce,
                 "an agent ends, and a record amid its checkpoint becomes unreadable"},
    FaultKindRow{FaultKind::kMasterDiskFull, "master_disk_full", FaultAmount::kFew,
                 "the registry cannot be written for a while"},
    FaultKindRow{FaultKind::kMasterDiskBroken, "master_disk_broken", FaultAmount::kFew,
                 "the registry is written, but the write is reported as failed"},
    FaultKindRow{FaultKind::kAgentCrashForGood, "agent_for_good", FaultAmount::kOnce,
                 "an agent never comes back, but its machine keeps running"},
    FaultKindRow{FaultKind::kMachineForGood, "machine_for_good", FaultAmount::kOnce,
                 "a machine never comes back"},
    FaultKindRow{FaultKind::kDrain, "drain", FaultAmount::kSome,
                 "an agent is drained, and undrained later"},
    FaultKindRow{FaultKind::kRoleChange, "role_change", FaultAmount::kSome,
                 "a role's weight, guarantee or limit changes for a while"},
    FaultKindRow{FaultKind::kReserve, "reserve", FaultAmount::kSome,
                 "a part of an agent is reserved for one role for a while"},
    FaultKindRow{FaultKind::kStartsFail, "starts_fail", FaultAmount::kFew,
                 "no executor of an agent registers, so the agent goes into quarantine"},
    FaultKindRow{
        FaultKind::kLeaderPaused, "leader_paused", FaultAmount::kSome,
        "the leader of several masters stops, usually until another one leads, and continues"},
    FaultKindRow{FaultKind::kSessionExpires, "session_expires", FaultAmount::kFew,
                 "the leader is cut off from the ensemble until its session has expired"},
    FaultKindRow{FaultKind::kEnsembleSlow, "ensemble_slow", FaultAmount::kFew,
                 "requests between masters and their ensemble are slow"},
    FaultKindRow{FaultKind::kRackCut, "rack_cut", FaultAmount::kFew,
                 "the agents of a rack are cut off at once (both ways, one way, flapping or slow); "
                 "tight brake"},
    FaultKindRow{FaultKind::kAgentGone, "agent_gone", FaultAmount::kFew,
                 "an agent is cut off, declared gone, and comes back; then it starts anew"},
    FaultKindRow{FaultKind::kAgentIdle, "agent_idle", FaultAmount::kFew,
                 "an agent takes tasks and does not start them; its master soon gives them up"},
    FaultKindRow{FaultKind::kCheckpointCut, "checkpoint_cut", FaultAmount::kSome,
                 "an agent ends, and its checkpoint ends at an earlier record, intact or torn"},
    FaultKindRow{FaultKind::kLyingAgent, "lying_agent", FaultAmount::kOnce,
                 "one extra agent lies in each message; used only by name, or with --liars", true},
    FaultKindRow{FaultKind::kLyingScheduler, "lying_scheduler", FaultAmount::kOnce,
                 "one extra scheduler lies in each message; used only by name, or with --liars",
                 true},
};

std::string_view to_text(FaultKind kind);

using FaultKinds = std::set<FaultKind>;
// "all", "none" or names separated by commas. Errors: kInvalidArgument: an unknown name.
Result<FaultKinds> parse_fault_kinds(std::string_view list);
// The inverse of parse_fault_kinds().
std::string to_text(const FaultKinds& kinds);
// The mix of this seed. With several masters it may include the kinds that only they have.
FaultKinds draw_fault_kinds(const World& world, bool several_masters = false);

struct Fault {
  uint64_t number = 0;  // within its plan, from 1 in the order of time
  Time at = {};
  FaultKind kind = {};
  uint64_t target = 0;  // an agent or scheduler, modulo their number
  Duration lasts = {};  // duration of the fault or of the downtime
  uint64_t seed = 0;    // for the random details of the fault
};

// "3,7-12": numbers of faults that do not happen. Errors: kInvalidArgument.
Result<std::set<uint64_t>> parse_numbers(std::string_view list);
std::string to_text(const std::set<uint64_t>& numbers);

struct FaultPlan {
  FaultKinds kinds = {};
  NetworkRates network = {};
  uint32_t start_failures = 0;  // executors that cannot be started, per thousand
  std::vector<Fault> faults = {};
  Time healed_at = {};  // no faults after this

  std::vector<std::string> describe() const;
};

// The plan without the skipped faults; the others keep their numbers.
FaultPlan draw_faults(const World& world, const FaultKinds& kinds,
                      const std::set<uint64_t>& skipped);

}  // namespace proffer::sim
