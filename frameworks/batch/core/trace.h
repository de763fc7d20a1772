#pragma once

// The events of the batch scheduler, by noun. A field is `free_text` if another party wrote it and
// it is unchecked, or if it may contain spaces.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/trace.h"
#include "frameworks/batch/core/work.h"
#include "proto/batch_status.h"
#include "proto/messages.h"

namespace proffer::batch {

// --- tasks -------------------------------------------------------------------------------------

struct TaskLaunched {
  TaskId task;
  AgentId agent;

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "task launched"}; }
  void fields(TraceFields& f) const { f("task", task)("agent", agent); }
};

// The last status of a task.
struct OfStatus {
  TaskId task;
  AgentId agent;        // may be empty
  std::string message;  // if empty, `reason` has the explanation
  proto::TaskReason reason = {};

  explicit OfStatus(const proto::TaskStatus& status)
      : task(status.task), agent(status.agent), message(status.message), reason(status.reason) {}
  void fields(TraceFields& f) const {
    f("task", task);
    if (!agent.empty()) f("agent", agent);
    if (!message.empty()) {
      f.free_text("reason", message);
    } else if (reason != proto::TaskReason::kNone) {
      f("reason", to_text(reason));
    }
  }
};

struct TaskDone : OfStatus {
  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "task done"}; }
};

struct TaskEndedEarly : OfStatus {
  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "task ended early"}; }
};

struct TaskUnreachable : OfStatus {
  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "task unreachable"}; }
};

struct TaskLost : OfStatus {
  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "task lost"}; }
};

// A finished range could not do all of its work.
struct OutputTrouble {
  TaskId task;
  AgentId agent;
  std::string reason;

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "trouble with the output"}; }
  void fields(TraceFields& f) const { f("task", task)("agent", agent).free_text("reason", reason); }
};

struct MapOutputsCannotBeFetched : OfStatus {
  static constexpr TraceKind kind() {
    return {TraceLevel::kMisbehaved, "map outputs cannot be fetched"};
  }
};

struct TaskFailed {
  TaskId task;
  AgentId agent;
  int64_t failures = 0;
  int64_t of = 0;  // the number at which the job fails
  std::string reason;

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "task failed"}; }
  void fields(TraceFields& f) const {
    f("task", task)("agent", agent)("failures", failures)("of", of).free_text("reason", reason);
  }
};

// --- agents ------------------------------------------------------------------------------------

struct AgentAvoided {
  JobId job;
  AgentId agent;
  bool is_slow = false;  // its tasks are slow; else they failed

  TraceKind kind() const {
    return {TraceLevel::kMisbehaved, is_slow ? "agent avoided: tasks of the job are slow there"
                                             : "agent avoided: tasks of the job failed there"};
  }
  void fields(TraceFields& f) const { f("job", job)("agent", agent); }
};

struct AgentLost {
  AgentId agent;
  size_t maps = 0;  // maps whose outputs were lost with it

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "agent lost"}; }
  void fields(TraceFields& f) const { f("agent", agent)("maps_computed_again", maps); }
};

// --- jobs --------------------------------------------------------------------------------------

struct JobSubmitted {
  JobId job;
  std::string owner;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "job submitted"}; }
  void fields(TraceFields& f) const { f("job", job)("owner", owner); }
};

struct JobCancelled {
  JobId job;
  std::string reason;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "job cancelled"}; }
  void fields(TraceFields& f) const { f("job", job).free_text("reason", reason); }
};

struct JobRetried {
  JobId job;
  std::string by;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "job retried"}; }
  void fields(TraceFields& f) const { f("job", job)("by", by); }
};

// Its conditions can never be met.
struct JobSkipped {
  JobId job;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "job skipped"}; }
  void fields(TraceFields& f) const { f("job", job); }
};

struct JobEnded {
  JobId job;
  std::string owner;
  proto::BatchPhase phase = {};

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "job ended"}; }
  void fields(TraceFields& f) const { f("job", job)("owner", owner)("phase", to_text(phase)); }
};

// --- schedules ---------------------------------------------------------------------------------

struct ScheduleSubmitted {
  std::string schedule;
  std::string owner;
  std::string cron;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "schedule submitted"}; }
  void fields(TraceFields& f) const {
    f("schedule", schedule)("owner", owner).free_text("cron", cron);
  }
};

struct ScheduleChanged {
  std::string schedule;
  std::string by;
  std::string_view to;  // "pause", "resume", "remove"

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "schedule changed"}; }
  void fields(TraceFields& f) const { f("schedule", schedule)("by", by)("to", to); }
};

struct FiringRefused {
  std::string schedule;
  std::string reason;

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "firing refused"}; }
  void fields(TraceFields& f) const { f("schedule", schedule).free_text("reason", reason); }
};

struct ZoneCannotBeRead {
  std::string zone;
  std::string reason;

  static constexpr TraceKind kind() {
    return {TraceLevel::kMisbehaved, "time zone cannot be read"};
  }
  void fields(TraceFields& f) const { f("zone", zone).free_text("reason", reason); }
};

// --- the session and the store ------------------------------------------------------------------

struct BatchSubscribed {
  FrameworkId framework;

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "batch subscribed"}; }
  void fields(TraceFields& f) const { f("framework", framework); }
};

struct JobsRead {
  size_t jobs = 0;
  size_t ended = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "jobs read from the store"}; }
  void fields(TraceFields& f) const { f("jobs", jobs)("ended", ended); }
};

struct StoreRefuses {
  std::string error;

  static constexpr TraceKind kind() { return {TraceLevel::kOperator, "the store refuses"}; }
  void fields(TraceFields& f) const { f.free_text("error", error); }
};

}  // namespace proffer::batch
