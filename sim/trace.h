#pragma once

// The events of the machines and processes of a simulated world, by noun; the cores emit the
// others. A field with spaces is `free_text`.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/trace.h"
#include "proto/task_state.h"
#include "sim/faults.h"

namespace proffer::sim {

// --- the world ---------------------------------------------------------------------------------

struct LawBroken {
  std::string law;  // the text that is reported when the run ends

  static constexpr TraceKind kind() { return {TraceLevel::kOperator, "violated"}; }
  void fields(TraceFields& f) const { f("law", law); }
};

struct FaultBegins {
  FaultKind fault = {};
  uint64_t number = 0;

  TraceKind kind() const { return {TraceLevel::kMessage, to_text(fault)}; }
  void fields(TraceFields& f) const { f("number", number); }
};

struct FaultsHealed {
  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "healed"}; }
  void fields(TraceFields&) const {}
};

struct DrainRefused {
  std::string error;

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "drain refused"}; }
  void fields(TraceFields& f) const { f.free_text("error", error); }
};

struct UndrainRefused {
  std::string error;

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "undrain refused"}; }
  void fields(TraceFields& f) const { f.free_text("error", error); }
};

// --- the network -------------------------------------------------------------------------------

struct FrameNews {
  std::string_view what;  // a literal: "heard", "frame lost"
  PeerId peer;
  uint64_t sequence = 0;
  std::string_view message;  // its name

  TraceKind kind() const { return {TraceLevel::kMessage, what}; }
  void fields(TraceFields& f) const { f("peer", peer)("sequence", sequence)("message", message); }
};

struct TooMuchWaits {
  PeerId peer;

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "too much waits"}; }
  void fields(TraceFields& f) const { f("peer", peer); }
};

// --- masters -----------------------------------------------------------------------------------

struct MasterBegins {
  LeaderEpoch leader;

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "master begins"}; }
  void fields(TraceFields& f) const { f("leader", leader); }
};

struct MasterCrashes {
  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "master crashes"}; }
  void fields(TraceFields&) const {}
};

struct MasterEnds {
  std::string reason;

  static constexpr TraceKind kind() { return {TraceLevel::kOperator, "master ends"}; }
  void fields(TraceFields& f) const { f.free_text("reason", reason); }
};

// The session of a master with the ensemble.
struct SessionExpires {
  uint64_t session = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "session expires"}; }
  void fields(TraceFields& f) const { f("session", session); }
};

// --- agents ------------------------------------------------------------------------------------

struct AgentBegins {
  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "agent begins"}; }
  void fields(TraceFields&) const {}
};

struct AgentCrashes {
  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "agent crashes"}; }
  void fields(TraceFields&) const {}
};

struct AgentExits {
  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "agent exits"}; }
  void fields(TraceFields&) const {}
};

struct AgentEnds {
  std::string reason;

  static constexpr TraceKind kind() { return {TraceLevel::kOperator, "agent ends"}; }
  void fields(TraceFields& f) const { f.free_text("reason", reason); }
};

struct CheckpointDamaged {
  static constexpr TraceKind kind() { return {TraceLevel::kOperator, "the checkpoint is damaged"}; }
  void fields(TraceFields&) const {}
};

struct MachineGoesDown {
  size_t tasks = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "machine goes down"}; }
  void fields(TraceFields& f) const { f("tasks", tasks); }
};

// --- executors and tasks -----------------------------------------------------------------------

struct ExecutorBegins {
  int32_t pid = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "executor begins"}; }
  void fields(TraceFields& f) const { f("pid", pid); }
};

struct ExecutorKilled {
  int32_t pid = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "executor killed"}; }
  void fields(TraceFields& f) const { f("pid", pid); }
};

struct ExecutorExits {
  int32_t pid = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "executor exits"}; }
  void fields(TraceFields& f) const { f("pid", pid); }
};

struct TaskStarts {
  TaskId task;

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "task starts"}; }
  void fields(TraceFields& f) const { f("task", task); }
};

struct TaskEnds {
  TaskId task;
  std::optional<proto::TaskState> reported = {};  // by its executor

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "task ends"}; }
  void fields(TraceFields& f) const {
    f("task", task);
    if (reported) f("reported", to_text(*reported));
  }
};

// --- schedulers --------------------------------------------------------------------------------

struct SchedulerBegins {
  FrameworkId framework;  // the earlier framework id

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "scheduler begins"}; }
  void fields(TraceFields& f) const { f("framework", framework); }
};

struct TenantBegins {
  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "scheduler begins"}; }
  void fields(TraceFields&) const {}
};

struct SchedulerCrashes {
  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "scheduler crashes"}; }
  void fields(TraceFields&) const {}
};

struct SchedulerIsDone {
  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "scheduler is done"}; }
  void fields(TraceFields&) const {}
};

}  // namespace proffer::sim
