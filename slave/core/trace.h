#pragma once

// The trace events of an agent, by noun. A field that a peer wrote and that was not checked, or
// that contains spaces, is `free_text`.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/resources.h"
#include "common/time.h"
#include "common/trace.h"
#include "proto/task_state.h"

namespace proffer::agent {

// --- the agent ---------------------------------------------------------------------------------

struct AgentRecovered {
  AgentId agent;
  size_t tasks = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "agent recovered"}; }
  void fields(TraceFields& f) const { f("agent", agent)("tasks", tasks); }
};

struct AgentStops {
  AgentId agent;
  size_t tasks = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "agent stops"}; }
  void fields(TraceFields& f) const { f("agent", agent)("tasks", tasks); }
};

struct CheckpointHasGaps {
  AgentId agent;

  static constexpr TraceKind kind() {
    return {TraceLevel::kOperator,
            "the checkpoint has gaps: tasks and executors that it does not name in full are ended"};
  }
  void fields(TraceFields& f) const { f("agent", agent); }
};

struct MoreUsedThanGiven {
  Resources used;
  Resources total;

  static constexpr TraceKind kind() {
    return {TraceLevel::kOperator,
            "what runs here takes more than the agent was given; it offers less as tasks end"};
  }
  void fields(TraceFields& f) const { f("used", to_text(used))("total", to_text(total)); }
};

struct PortsLeftOut {
  PortSet ports;

  static constexpr TraceKind kind() {
    return {TraceLevel::kOperator,
            "ports that cannot be bound are not offered until the agent is started again"};
  }
  void fields(TraceFields& f) const { f("ports", to_text(ports)); }
};

// The work directory's disk became full, or has room again.
struct DiskRoomChanged {
  AgentId agent;
  int64_t free_mib = 0;
  int64_t reserve_mib = 0;
  int64_t free_files = 0;
  bool is_full = false;

  TraceKind kind() const {
    return {TraceLevel::kOperator,
            is_full ? "no tasks are taken; make room on the disk of the work directory"
                    : "tasks are taken again"};
  }
  void fields(TraceFields& f) const {
    f("agent", agent)("free_mib", free_mib)("reserve_mib", reserve_mib)("free_files", free_files);
  }
};

struct QuarantineBegins {
  AgentId agent;
  std::string message;  // of the last failed start
  Duration grace;       // until the next try

  static constexpr TraceKind kind() {
    return {TraceLevel::kOperator, "no tasks are taken for a while: executors cannot be started"};
  }
  void fields(TraceFields& f) const {
    f("agent", agent).free_text("message", message);
    f("grace", grace);
  }
};

struct QuarantineTries {
  AgentId agent;

  static constexpr TraceKind kind() {
    return {TraceLevel::kLongLived, "tries again whether executors can be started"};
  }
  void fields(TraceFields& f) const { f("agent", agent); }
};

struct QuarantineEnds {
  AgentId agent;

  static constexpr TraceKind kind() {
    return {TraceLevel::kLongLived, "executors can be started again"};
  }
  void fields(TraceFields& f) const { f("agent", agent); }
};

// --- the master and its messages ----------------------------------------------------------------

struct Registered {
  AgentId agent;
  SessionEpoch session;
  size_t tasks = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "agent registered"}; }
  void fields(TraceFields& f) const { f("agent", agent)("session", session)("tasks", tasks); }
};

struct MasterLost {
  AgentId agent;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "master disconnected"}; }
  void fields(TraceFields& f) const { f("agent", agent); }
};

struct SessionEnds {
  std::string_view reason;  // a literal

  static constexpr TraceKind kind() {
    return {TraceLevel::kLongLived, "session with the master ends"};
  }
  void fields(TraceFields& f) const { f("reason", reason); }
};

struct OlderMasterRefused {
  LeaderEpoch leader;
  LeaderEpoch known;

  static constexpr TraceKind kind() {
    return {TraceLevel::kOperator,
            "a master of an older epoch was refused; stop it, restore its newer registry, or raise "
            "its epoch with `proffer registry set-epoch`"};
  }
  void fields(TraceFields& f) const { f("leader", leader)("known", known); }
};

struct MasterSentError {
  std::string message;
  std::string hint;

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "error from the master"}; }
  void fields(TraceFields& f) const {
    f.free_text("message", message);
    f.free_text("hint", hint);
  }
};

struct MasterRefuses {
  std::string message;
  std::string hint;

  static constexpr TraceKind kind() {
    return {TraceLevel::kOperator, "the master refuses this agent; correct what it says"};
  }
  void fields(TraceFields& f) const {
    f.free_text("message", message);
    f.free_text("hint", hint);
  }
};

struct MasterEndsAgent {
  std::string message;
  std::string hint;
  size_t tasks = 0;

  static constexpr TraceKind kind() {
    return {TraceLevel::kOperator, "the master ends this agent and its tasks"};
  }
  void fields(TraceFields& f) const {
    f.free_text("message", message);
    f.free_text("hint", hint);
    f("tasks", tasks);
  }
};

struct MessageFromMaster {
  std::string_view message;  // its name

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "from master"}; }
  void fields(TraceFields& f) const { f("message", message); }
};

struct UnexpectedFromMaster {
  std::string_view message;  // its name

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "unexpected message"}; }
  void fields(TraceFields& f) const { f("from", "master")("message", message); }
};

// "master" or "executor".
struct UnknownMessage {
  std::string_view from;

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "unknown message"}; }
  void fields(TraceFields& f) const { f("from", from); }
};

struct DuplicateFrame {
  std::string_view from;

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "duplicate frame"}; }
  void fields(TraceFields& f) const { f("from", from); }
};

// --- frameworks --------------------------------------------------------------------------------

struct FrameworkShutDown {
  FrameworkId framework;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "framework shut down"}; }
  void fields(TraceFields& f) const { f("framework", framework); }
};

struct TooManyReleases {
  FrameworkId framework;
  std::string begin;  // prefix of the ids of tasks whose files stay

  static constexpr TraceKind kind() {
    return {TraceLevel::kMisbehaved, "too many releases wait; these files stay until they are old"};
  }
  void fields(TraceFields& f) const { f("framework", framework)("begin", begin); }
};

// --- tasks -------------------------------------------------------------------------------------

struct OfTask {
  FrameworkId framework;
  TaskId task;

  void fields(TraceFields& f) const { f("framework", framework)("task", task); }
};

// The master repeats a launch that may have been lost.
struct TaskKnownAlready : OfTask {
  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "task is known already"}; }
};

struct TaskIdInUse : OfTask {
  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "task id is in use"}; }
};

struct LaunchRefused {
  FrameworkId framework;
  TaskId task;
  proto::TaskReason reason = {};

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "launch refused"}; }
  void fields(TraceFields& f) const {
    f("framework", framework)("task", task)("reason", to_text(reason));
  }
};

struct TaskUpdated {
  FrameworkId framework;
  TaskId task;
  proto::TaskState state = {};
  proto::TaskReason reason = {};

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "task update"}; }
  void fields(TraceFields& f) const {
    f("framework", framework)("task", task)("state", to_text(state));
    if (reason != proto::TaskReason::kNone) f("reason", to_text(reason));
  }
};

struct UpdateHeldBack : OfTask {
  static constexpr TraceKind kind() {
    return {TraceLevel::kMisbehaved, "update held back: its scheduler does not acknowledge"};
  }
};

struct NumbersForgotten : OfTask {
  static constexpr TraceKind kind() {
    return {
        TraceLevel::kMisbehaved,
        "numbers of updates were lost with a part of the checkpoint; the next one is behind them"};
  }
};

struct LateAcknowledgement : OfTask {
  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "late acknowledgement"}; }
};

struct KillOfEndedTask : OfTask {
  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "kill of a task that ended"}; }
};

struct TaskOutlivesItsKill : OfTask {
  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "task outlives its kill"}; }
};

struct TaskRanTooLong : OfTask {
  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "task ran for too long"}; }
};

struct TaskHoldsTooMuchDisk : OfTask {
  static constexpr TraceKind kind() {
    return {TraceLevel::kShortLived, "task holds too much of the disk"};
  }
};

// --- executors ---------------------------------------------------------------------------------

struct OfExecutor {
  FrameworkId framework;
  ExecutorId executor;

  void fields(TraceFields& f) const { f("framework", framework)("executor", executor); }
};

struct FilesToBeFetched {
  FrameworkId framework;
  ExecutorId executor;
  size_t files = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "files are fetched"}; }
  void fields(TraceFields& f) const {
    f("framework", framework)("executor", executor)("files", files);
  }
};

struct ExecutorStarts {
  FrameworkId framework;
  ExecutorId executor;
  uint64_t run = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "executor starts"}; }
  void fields(TraceFields& f) const { f("framework", framework)("executor", executor)("run", run); }
};

struct ExecutorTakesAnotherTask {
  FrameworkId framework;
  ExecutorId executor;
  ExecutorId before;  // its former id
  uint64_t run = 0;

  static constexpr TraceKind kind() {
    return {TraceLevel::kShortLived, "executor takes another task"};
  }
  void fields(TraceFields& f) const {
    f("framework", framework)("executor", executor)("before", before)("run", run);
  }
};

struct ExecutorKilled : OfExecutor {
  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "executor killed"}; }
};

struct ExecutorGone {
  FrameworkId framework;
  ExecutorId executor;
  std::string message;  // why its tasks ended

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "executor gone"}; }
  void fields(TraceFields& f) const {
    f("framework", framework)("executor", executor).free_text("message", message);
  }
};

// Adoption begins after a restart of the agent.
struct ExecutorLookedFor {
  FrameworkId framework;
  ExecutorId executor;
  int32_t pid = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "executor looked for"}; }
  void fields(TraceFields& f) const { f("framework", framework)("executor", executor)("pid", pid); }
};

struct ExecutorIsBack : OfExecutor {
  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "executor is back"}; }
};

struct CheckpointForgot : OfExecutor {
  static constexpr TraceKind kind() {
    return {
        TraceLevel::kOperator,
        "an executor tells of what the checkpoint has lost; what runs in it and is not named is "
        "ended"};
  }
};

struct ExecutorDidNotComeBack : OfExecutor {
  static constexpr TraceKind kind() {
    return {TraceLevel::kMisbehaved, "executor did not come back"};
  }
};

struct LeftoverStays {
  FrameworkId framework;
  ExecutorId executor;
  int32_t pid = 0;

  static constexpr TraceKind kind() {
    return {TraceLevel::kOperator,
            "processes of an earlier life cannot be ended; the agent registers when they are gone"};
  }
  void fields(TraceFields& f) const { f("framework", framework)("executor", executor)("pid", pid); }
};

struct ExecutorIsSilent {
  ExecutorId executor;

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "executor is silent"}; }
  void fields(TraceFields& f) const { f("executor", executor); }
};

struct FramesLost {
  ExecutorId executor;

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "gap in the frames"}; }
  void fields(TraceFields& f) const { f("executor", executor); }
};

struct ExecutorRefused {
  std::string message;

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "executor refused"}; }
  void fields(TraceFields& f) const { f.free_text("message", message); }
};

}  // namespace proffer::agent
