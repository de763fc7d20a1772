#pragma once

// The secrets of a task as files: in a directory in memory that its agent made, to which the link
// `secrets` of the sandbox leads.

#include "common/result.h"
#include "proto/messages.h"
#include "slave/executor/task_environment.h"

namespace proffer::executor {

// The link in the sandbox.
inline constexpr const char* kSecretsLink = "secrets";

// Writes the files of the task's secrets, which only its user may read. Errors:
// kFailedPrecondition (a value did not come: the agent was started again before it handed the task
// over; or there is no directory), kUnavailable, kResourceExhausted.
Result<void> give_secrets(const proto::RunTask& run, const Surroundings& around);

// All that is in the directory. What cannot be removed is the agent's to remove.
void remove_secret_files(const Surroundings& around);

}  // namespace proffer::executor
