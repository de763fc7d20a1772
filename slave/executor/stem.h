#pragma once

// The stem: a proffer-executor that an agent starts once and that runs no task itself. Each
// executor is forked from it: a process of its own, a child of the agent, as the user of its tasks.
// An executor of commands goes on as that fork, at a twentieth of what exec of this program costs
// (docs/adr/0015); for others their program is executed. The stem ends with its agent; what was
// forked from it does not.

#include "common/result.h"
#include "proto/messages.h"

namespace proffer::executor {

// Serves the agent at standard input. Returns, true, in each executor of commands, once it has its
// user, its session, its sandbox as directory, its output and its environment, which /proc shows as
// if it had been executed with it; or, false, in the stem, when the agent has gone. Exits with 2
// and a word on standard error if this was not started by an agent.
bool fork_executors();

// In an executor of commands that was forked so: it is another one from now on, with this sandbox
// as directory, its output there, and both in its environment, as /proc shows it. Errors:
// kUnavailable (the sandbox cannot be entered or written), kResourceExhausted.
Result<void> become_executor(const proto::ExecutorPlace& place);

}  // namespace proffer::executor
