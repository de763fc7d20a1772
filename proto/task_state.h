#pragma once

// The life of a task as a table. docs/STATES.md is made from the table, and the matrix test runs
// through it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string_view>

namespace proffer::proto {

enum class TaskState : uint8_t {
  kStaging,  // launched by the scheduler, not yet running
  kRunning,
  kKilling,      // a kill was requested; it may still run
  kUnreachable,  // its agent is past its timeout; it may still run
  kFinished,     // ended successfully
  kFailed,       // ended without success
  kKilled,       // ended because of a kill
  kLost,         // it does not run, and its end is unknown
  kGone,         // its agent will never return
  kRefused,      // never started: the launch was refused
};
inline constexpr size_t kTaskStateCount = 10;

constexpr bool is_terminal(TaskState state) { return state >= TaskState::kFinished; }

std::string_view to_text(TaskState state);  // "staging", "running", …
std::ostream& operator<<(std::ostream& out, TaskState state);
std::optional<TaskState> parse_task_state(std::string_view text);

enum class TaskEvent : uint8_t {
  kStarted,
  kKillAsked,
  kFinished,
  kFailed,
  kKilled,
  kLost,       // the agent or the master lost it
  kAgentLost,  // its agent is past its timeout
  kAgentBack,  // its agent came back with the task running
  kAgentGone,  // its agent never comes back
  kRefused,
};
inline constexpr size_t kTaskEventCount = 10;

std::string_view to_text(TaskEvent event);
std::ostream& operator<<(std::ostream& out, TaskEvent event);

struct TaskTransition {
  TaskState from;
  TaskEvent event;
  TaskState to;
};

inline constexpr TaskTransition kTaskTransitions[] = {
    {TaskState::kStaging, TaskEvent::kStarted, TaskState::kRunning},
    {TaskState::kStaging, TaskEvent::kKillAsked, TaskState::kKilling},
    {TaskState::kStaging, TaskEvent::kFinished, TaskState::kFinished},
    {TaskState::kStaging, TaskEvent::kFailed, TaskState::kFailed},
    {TaskState::kStaging, TaskEvent::kKilled, TaskState::kKilled},
    {TaskState::kStaging, TaskEvent::kLost, TaskState::kLost},
    {TaskState::kStaging, TaskEvent::kAgentLost, TaskState::kUnreachable},
    {TaskState::kStaging, TaskEvent::kAgentGone, TaskState::kGone},
    {TaskState::kStaging, TaskEvent::kRefused, TaskState::kRefused},

    {TaskState::kRunning, TaskEvent::kKillAsked, TaskState::kKilling},
    {TaskState::kRunning, TaskEvent::kFinished, TaskState::kFinished},
    {TaskState::kRunning, TaskEvent::kFailed, TaskState::kFailed},
    {TaskState::kRunning, TaskEvent::kKilled, TaskState::kKilled},
    {TaskState::kRunning, TaskEvent::kLost, TaskState::kLost},
    {TaskState::kRunning, TaskEvent::kAgentLost, TaskState::kUnreachable},
    {TaskState::kRunning, TaskEvent::kAgentGone, TaskState::kGone},

    {TaskState::kKilling, TaskEvent::kFinished, TaskState::kFinished},
    {TaskState::kKilling, TaskEvent::kFailed, TaskState::kFailed},
    {TaskState::kKilling, TaskEvent::kKilled, TaskState::kKilled},
    {TaskState::kKilling, TaskEvent::kLost, TaskState::kLost},
    {TaskState::kKilling, TaskEvent::kAgentLost, TaskState::kUnreachable},
    {TaskState::kKilling, TaskEvent::kAgentGone, TaskState::kGone},
    {TaskState::kKilling, TaskEvent::kRefused, TaskState::kRefused},

    {TaskState::kUnreachable, TaskEvent::kAgentBack, TaskState::kRunning},
    {TaskState::kUnreachable, TaskEvent::kFinished, TaskState::kFinished},
    {TaskState::kUnreachable, TaskEvent::kFailed, TaskState::kFailed},
    {TaskState::kUnreachable, TaskEvent::kKilled, TaskState::kKilled},
    {TaskState::kUnreachable, TaskEvent::kLost, TaskState::kLost},
    {TaskState::kUnreachable, TaskEvent::kAgentGone, TaskState::kGone},
};

// The state after `event`; none if the event has no meaning in `from`: it is a duplicate, or was
// overtaken by another message. The caller counts and ignores such events.
constexpr std::optional<TaskState> next_state(TaskState from, TaskEvent event) {
  for (const TaskTransition& row : kTaskTransitions) {
    if (row.from == from && row.event == event) return row.to;
  }
  return std::nullopt;
}

namespace detail {
constexpr bool task_table_is_sound() {
  for (const TaskTransition& a : kTaskTransitions) {
    if (is_terminal(a.from)) return false;  // terminal states have no way out
    int rows = 0;
    for (const TaskTransition& b : kTaskTransitions) rows += a.from == b.from && a.event == b.event;
    if (rows != 1) return false;  // no two rows disagree
  }
  return true;
}
}  // namespace detail
static_assert(detail::task_table_is_sound());

// The event that an update with this state reports.
std::optional<TaskEvent> event_of(TaskState told);

// Why a task is in its state. This is the only list of reasons.
enum class TaskReason : uint8_t {
  kNone,
  kCommandExited,     // the command ended by itself; see exit_code
  kCommandSignalled,  // a signal from outside ended it; see `signal`
  kKilledByScheduler,
  kKilledByOperator,
  kFrameworkTornDown,
  kLaunchFailed,     // the executor or command could not be started
  kExecutorEnded,    // the executor ended before its task
  kExecutorTimeout,  // the executor did not register, or come back, in time
  kAgentRestarted,   // the agent or its machine restarted, and the task was not found again
  kAgentUnreachable,
  kAgentReturned,  // the agent came back with the task
  kAgentRemoved,
  kAgentForgot,  // the agent came back without the task
  kTaskUnknown,  // no agent and no master knows the task
  kDuplicateTaskId,
  kOfferNotValid,      // expired, rescinded, used, or an offer to another framework
  kResourcesExceeded,  // the offers have too few resources
  kAgentNotAvailable,
  kPortsNotAvailable,
  kTaskInvalid,  // a field of the task is wrong; the message names it
  kAgentFull,    // the agent has kTasksPerAgentMax tasks
  // Since version 2:
  kRevoked,         // preempted by a revoke notice, and still running at its deadline
  kDrained,         // its agent was drained, and it still ran at the deadline
  kGangIncomplete,  // a task of its gang was not launched, or ended before all ran
  // Since version 3:
  kOutOfMemory,  // it needed more memory than its limit
  kFetchFailed,  // a file that it names could not be fetched
  kRanTooLong,   // it was killed after TaskSpec::max_run_time
  kOutOfDisk,    // its sandbox exceeded its limit
  kNotAsked,     // it names no declared ask, or an ask that wants no more tasks
  kNotStarted,   // its agent received it and sent no update for too long
};
inline constexpr size_t kTaskReasonCount = 31;

std::string_view to_text(TaskReason reason);  // "command_exited", …
std::ostream& operator<<(std::ostream& out, TaskReason reason);
std::optional<TaskReason> parse_task_reason(std::string_view text);

// The maker of an update.
enum class UpdateSource : uint8_t { kAgent, kMaster };

}  // namespace proffer::proto
