#pragma once

// The secrets of a task as files, in a directory in memory that the agent made. The link `secrets`
// in the sandbox leads to it.

#include "common/result.h"
#include "proto/messages.h"
#include "slave/executor/task_environment.h"

namespace proffer::executor {

// The link in the sandbox.
inline constexpr const char* kSecretsLink = "secrets";

// Writes the task's secrets to files that only its user can read. Errors: kFailedPrecondition (a
// value is missing, because the agent was restarted before it delivered the task; or there is no
// directory), kUnavailable, kResourceExhausted.
Result<void> give_secrets(const proto::RunTask& run, const Surroundings& around);

// Removes all files in the directory. The agent removes the rest.
void remove_secret_files(const Surroundings& around);

}  // namespace proffer::executor
