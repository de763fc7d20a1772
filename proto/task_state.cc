#include "proto/task_state.h"

#include <ostream>

#include "common/check.h"

namespace proffer::proto {
namespace {

constexpr std::array<std::string_view, kTaskStateCount> kStateNames = {
    "staging", "running", "killing", "unreachable", "finished",
    "failed",  "killed",  "lost",    "gone",        "refused"};

constexpr std::array<std::string_view, kTaskEventCount> kEventNames = {
    "started", "kill_asked", "finished",   "failed",     "killed",
    "lost",    "agent_lost", "agent_back", "agent_gone", "refused"};

constexpr std::array<std::string_view, kTaskReasonCount> kReasonNames = {
    "none",
    "command_exited",
    "command_signalled",
    "killed_by_scheduler",
    "killed_by_operator",
    "framework_torn_down",
    "launch_failed",
    "executor_ended",
    "executor_timeout",
    "agent_restarted",
    "agent_unreachable",
    "agent_returned",
    "agent_removed",
    "agent_forgot",
    "task_unknown",
    "duplicate_task_id",
    "offer_not_valid",
    "resources_exceeded",
    "agent_not_available",
    "ports_not_available",
    "task_invalid",
    "agent_full",
    "revoked",
    "drained",
    "gang_incomplete",
    "out_of_memory",
    "fetch_failed",
    "ran_too_long",
    "out_of_disk",
    "not_asked",
    "not_started",
};
static_assert(!kReasonNames.back().empty());

template <class Enum, size_t N>
std::optional<Enum> find_name(const std::array<std::string_view, N>& names, std::string_view text) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_text(TaskState state) { return kStateNames.at(static_cast<size_t>(state)); }
std::string_view to_text(TaskEvent event) { return kEventNames.at(static_cast<size_t>(event)); }
std::string_view to_text(TaskReason reason) { return kReasonNames.at(static_cast<size_t>(reason)); }

std::optional<TaskState> parse_task_state(std::string_view text) {
  return find_name<TaskState>(kStateNames, text);
}

std::optional<TaskReason> parse_task_reason(std::string_view text) {
  return find_name<TaskReason>(kReasonNames, text);
}

std::optional<TaskEvent> event_of(TaskState told) {
  switch (told) {
    case TaskState::kRunning:
      return TaskEvent::kStarted;
    case TaskState::kFinished:
      return TaskEvent::kFinished;
    case TaskState::kFailed:
      return TaskEvent::kFailed;
    case TaskState::kKilled:
      return TaskEvent::kKilled;
    case TaskState::kLost:
      return TaskEvent::kLost;
    case TaskState::kGone:
      return TaskEvent::kAgentGone;
    case TaskState::kRefused:
      return TaskEvent::kRefused;
    case TaskState::kUnreachable:
      return TaskEvent::kAgentLost;
    case TaskState::kStaging:
    case TaskState::kKilling:
      return std::nullopt;
  }
  LOG(FATAL) << "task state " << static_cast<int>(told);
  return std::nullopt;
}

std::ostream& operator<<(std::ostream& out, TaskState state) { return out << to_text(state); }
std::ostream& operator<<(std::ostream& out, TaskEvent event) { return out << to_text(event); }
std::ostream& operator<<(std::ostream& out, TaskReason reason) { return out << to_text(reason); }

}  // namespace proffer::proto
