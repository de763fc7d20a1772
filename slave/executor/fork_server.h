#pragma once

// The fork server is the agent's fork server: a proffer-executor that the agent starts once and
// that runs no tasks itself. Each executor is forked from it, as a child of the agent and with the
// user of its tasks. A command executor continues in the fork, at a twentieth of the cost of exec
// of this program (docs/adr/0015); others exec their program. The fork server ends with its agent;
// forked executors do not.

#include "common/result.h"
#include "proto/messages.h"

namespace proffer::executor {

// Serves the agent at standard input. Returns true in each forked command executor, once it has its
// user, session, sandbox as directory, output and environment, which /proc shows as after an exec.
// Returns false in the fork server when the agent has ended. Exits with 2 and a message on standard
// error if it was not started by an agent.
bool fork_executors();

// Makes a forked command executor another executor: with this sandbox as its directory, its output
// there, and both in its environment, as /proc shows it. Errors: kUnavailable (the sandbox cannot
// be entered or written), kResourceExhausted.
Result<void> become_executor(const proto::ExecutorPlace& place);

}  // namespace proffer::executor
