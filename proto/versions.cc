// Adapts messages to earlier versions of the protocol. The reader of an older version ignores
// fields that it does not know, and counts and ignores such messages. Only values that would make
// it refuse the frame are changed here.

#include "proto/versions.h"

namespace proffer::proto {
namespace {

void say(TaskStatus& status, uint32_t version) {
  status.reason = reason_for(status.reason, version);
}

void say(ErrorMessage& error, uint32_t version) {
  if (version < 3 && error.code == ErrorCode::kPermissionDenied) {
    error.code = ErrorCode::kFailedPrecondition;
  }
}

}  // namespace

TaskReason reason_for(TaskReason reason, uint32_t version) {
  if (version >= 3) return reason;
  switch (reason) {
    case TaskReason::kRevoked:
    case TaskReason::kDrained:
      return version >= 2 ? reason : TaskReason::kKilledByOperator;
    case TaskReason::kGangIncomplete:
      return version >= 2 ? reason : TaskReason::kOfferNotValid;
    case TaskReason::kFetchFailed:
      return TaskReason::kLaunchFailed;
    case TaskReason::kNotAsked:
      return TaskReason::kTaskInvalid;
    case TaskReason::kNotStarted:
      return TaskReason::kTaskUnknown;
    case TaskReason::kRanTooLong:
      return TaskReason::kKilledByScheduler;
    case TaskReason::kOutOfMemory:
    case TaskReason::kOutOfDisk:
      return TaskReason::kCommandSignalled;
    default:
      return reason;
  }
}

void say_in_version(Message& message, uint32_t version) {
  if (version >= kProtocolVersion) return;
  if (auto* update = std::get_if<Update>(&message)) {
    say(update->status, version);
  } else if (auto* told = std::get_if<ExecutorUpdate>(&message)) {
    say(told->status, version);
  } else if (auto* part = std::get_if<RegisterTasks>(&message)) {
    for (AgentTask& task : part->tasks) {
      for (TaskStatus& status : task.unacknowledged) say(status, version);
    }
  } else if (auto* error = std::get_if<ErrorMessage>(&message)) {
    say(*error, version);
  } else if (auto* result = std::get_if<StoreResult>(&message)) {
    if (result->error) say(*result->error, version);
  } else if (auto* response = std::get_if<FrameworkResponse>(&message)) {
    if (response->error) say(*response->error, version);
  } else if (auto* accept = std::get_if<Accept>(&message); accept != nullptr && version < 2) {
    std::erase_if(accept->operations,
                  [](const Operation& o) { return !std::holds_alternative<Launch>(o); });
  }
}

}  // namespace proffer::proto
